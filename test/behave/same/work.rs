// SPDX-License-Identifier: MIT
// work.rs - threads, locks, channels, children and a panic, with a result that is always the same.
use std::collections::HashMap;
use std::process::Command;
use std::sync::{mpsc, Arc, Condvar, Mutex};
use std::thread;

fn main() {
    let map = Arc::new(Mutex::new(HashMap::new()));
    let threads: Vec<_> = (0..8)
        .map(|i| {
            let map = map.clone();
            thread::spawn(move || {
                for j in 0..5000 {
                    *map.lock().unwrap().entry(format!("k{}", j % 100)).or_insert(0u64) += i;
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    println!("{}", map.lock().unwrap().values().sum::<u64>());
    let (send, receive) = mpsc::channel();
    for i in 0..4 {
        let send = send.clone();
        thread::spawn(move || send.send(vec![i; 1000]).unwrap());
    }
    drop(send);
    println!("{}", receive.iter().map(|v: Vec<u32>| v.len()).sum::<usize>());
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let mut ready = pair.0.lock().unwrap();
    while !*ready {
        ready = pair.1.wait(ready).unwrap();
    }
    println!("{:?}", Command::new("sh").arg("-c").arg("echo sub; exit 3").output().unwrap());
    println!("{}", thread::spawn(|| panic!("wanted")).join().is_err());
    std::process::exit(7)
}
