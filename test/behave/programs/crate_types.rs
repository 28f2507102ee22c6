// SPDX-License-Identifier: MIT
// crate_types.rs - reads the answer on stdin as the type that the Rust crate hotpath has for it: crate_types KIND.
use hotpath::json::*;
use std::io::Read;

fn take<T: serde::de::DeserializeOwned + serde::Serialize>(text: &str) -> Result<serde_json::Value, String> {
    let value: T = serde_json::from_str(text).map_err(|e| e.to_string())?;
    serde_json::to_value(&value).map_err(|e| e.to_string())
}

fn read(kind: &str, text: &str) -> Result<serde_json::Value, String> {
    match kind {
        "report" => take::<JsonReport>(text),
        "functions_timing" | "functions_alloc" => take::<JsonFunctionsList>(text),
        "functions_cpu" => take::<JsonFunctionsCpuEnvelope>(text),
        "functions_timing_logs" => take::<JsonFunctionTimingLogsList>(text),
        "functions_alloc_logs" => take::<JsonFunctionAllocLogsList>(text),
        "threads" => take::<JsonThreadsList>(text),
        "channels" => take::<JsonChannelsList>(text),
        "channels_logs" => take::<JsonChannelLogsList>(text),
        "streams" => take::<JsonStreamsList>(text),
        "streams_logs" => take::<JsonStreamLogsList>(text),
        "futures" => take::<JsonFuturesList>(text),
        "futures_logs" => take::<JsonFutureLogsList>(text),
        "rw_locks" => take::<JsonRwLocksList>(text),
        "mutexes" => take::<JsonMutexesList>(text),
        "sql" => take::<JsonSqlList>(text),
        "http" => take::<JsonHttpList>(text),
        "server" => take::<JsonServerList>(text),
        "io" => take::<JsonIoList>(text),
        "debug" => take::<JsonDebugList>(text),
        "dbg_logs" => take::<JsonDebugDbgLogs>(text),
        "val_logs" => take::<JsonDebugValLogs>(text),
        "gauge_logs" => take::<JsonDebugGaugeLogs>(text),
        "tokio_runtime" => take::<JsonRuntimeSnapshot>(text),
        "profiler_status" => take::<JsonProfilerStatus>(text),
        _ => Err(format!("no kind {kind}")),
    }
}

fn main() {
    let kind = std::env::args().nth(1).expect("KIND");
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("stdin");
    match read(&kind, &text) {
        Ok(value) => println!("{value}"),
        Err(why) => {
            eprintln!("{kind}: {why}");
            std::process::exit(1);
        }
    }
}
