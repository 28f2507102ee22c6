// SPDX-License-Identifier: MIT
// console_crate.rs - a program with the Rust crate hotpath, for console.bats: looked at over HTTP.
use std::sync::mpsc;
use std::time::Duration;

#[hotpath::measure]
fn nap() {
    std::thread::sleep(Duration::from_millis(2));
}

#[hotpath::measure(log = true)]
fn price(n: u64) -> u64 {
    (0..n).map(|i| i * i).sum()
}

#[hotpath::main]
fn main() {
    let (sender, receiver) = hotpath::channel!(mpsc::channel::<u64>(), label = "orders", log = true);
    std::thread::spawn(move || loop {
        if sender.send(price(1000)).is_err() {
            break;
        }
        nap();
    });
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_secs(300) {
        let _ = receiver.recv();
        nap();
    }
}
