// SPDX-License-Identifier: MIT
// Work.java - threads, garbage, children and signals of a virtual machine, with a result that is always the same.
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Work {
	public static void main(String[] a) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(8);
		List<Future<Integer>> list = new ArrayList<>();
		for (int i = 0; i < 16; i++) {
			final int n = i;
			list.add(pool.submit(() -> {
				List<String> s = new ArrayList<>();
				for (int j = 0; j < 20000; j++)
					s.add("x" + j * n);
				return s.stream().mapToInt(String::length).sum();
			}));
		}
		int sum = 0;
		for (Future<Integer> f : list)
			sum += f.get();
		pool.shutdown();
		System.out.println(sum + " " + IntStream.range(0, 100000).parallel().map(x -> x % 7).sum());
		Process p = new ProcessBuilder("sh", "-c", "echo sub; exit 3").start();
		System.out.println(new String(p.getInputStream().readAllBytes()).trim() + " " + p.waitFor());
		try {
			Object o = null;
			o.hashCode();
		} catch (NullPointerException e) {
			System.out.println("null");
		}
		try {
			deep(0);
		} catch (StackOverflowError e) {
			System.out.println("deep");
		}
		System.gc();
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("bye")));
		System.exit(7);
	}

	static int deep(int n) {
		return deep(n + 1) + 1;
	}
}
