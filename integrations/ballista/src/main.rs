//! Asks a Ballista cluster what `isoscope check --engine ballista://HOST:PORT` wants to know.
//!
//! `ask` takes the names of plans from its input, a line each: views in SQL over a Parquet data set. It writes down how many
//! transactions do not fit, and the part of the history around them. `scheduler` and `executor` are a cluster to try it on.

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::arrow::array::{Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionStateBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionConfig, SessionContext};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::BufRead;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::{env, io, process, thread};
use tokio::signal::unix::{SignalKind, signal};

type Failed = Box<dyn Error + Send + Sync>;

/// A scheduler that waits three minutes for somebody who is dead is no help to somebody who waits for an answer.
const LONGEST_SILENCE_SECONDS: u64 = 20;

/// Plans of many joins are deep.
const STACK: usize = 32 << 20;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    let done = match (runtime, &words[..]) {
        (Err(error), _) => Err(error.into()),
        (Ok(runtime), ["ask", address]) => runtime.block_on(ask(address)),
        (Ok(runtime), ["scheduler", address]) => runtime.block_on(schedule(address)),
        (Ok(runtime), ["executor", scheduler, folder]) => runtime.block_on(execute(scheduler, folder)),
        (Ok(_), ["--version"]) => {
            println!("isoscope-ballista {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        _ => Err(
            "usage: isoscope-ballista ask ballista://HOST:PORT | scheduler IP:PORT | executor SCHEDULER:PORT FOLDER"
                .into(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // What it says on several lines is one sentence here.
            let words: Vec<String> = error.to_string().split_whitespace().map(str::to_owned).collect();
            eprintln!("Error: {}", words.join(" ").chars().take(2000).collect::<String>());
            ExitCode::FAILURE
        }
    }
}

/// A scheduler, until it is killed.
async fn schedule(address: &str) -> Result<(), Failed> {
    let address: std::net::SocketAddr = address.parse()?;
    let config = SchedulerConfig {
        external_host: address.ip().to_string(),
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        executor_timeout_seconds: LONGEST_SILENCE_SECONDS,
        expire_dead_executor_interval_seconds: 2,
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    Ok(start_server(cluster, address, Arc::new(config)).await?)
}

/// One that works, on this machine, until it is killed.
async fn execute(scheduler: &str, folder: &str) -> Result<(), Failed> {
    let (host, port) = scheduler.rsplit_once(':').ok_or("a scheduler has a port, as in 127.0.0.1:50050")?;
    let config = ExecutorProcessConfig {
        external_host: Some("127.0.0.1".to_owned()),
        port: free_port()?,
        grpc_port: free_port()?,
        scheduler_host: host.to_owned(),
        scheduler_port: port.parse()?,
        scheduler_connect_timeout_seconds: 30,
        concurrent_tasks: 1,
        work_dir: Some(folder.to_owned()),
        executor_heartbeat_interval_seconds: 2,
        ..ExecutorProcessConfig::default()
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Answers plans until no more can come. Then nobody waits for an answer: whatever runs is left, and its folder is removed,
/// as whoever made it may have been killed.
async fn ask(address: &str) -> Result<(), Failed> {
    // Ctrl-C is heard by who started this.
    let mut interrupts = signal(SignalKind::interrupt())?;
    tokio::spawn(async move { while interrupts.recv().await.is_some() {} });
    let (sender, plans) = mpsc::channel();
    thread::spawn(move || {
        let mut folders = BTreeSet::new();
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            folders.extend(Path::new(&line).parent().map(Path::to_owned));
            sender.send(PathBuf::from(line)).ok();
        }
        for folder in folders {
            fs::remove_dir_all(folder).ok();
        }
        process::exit(0);
    });
    loop {
        let path = tokio::task::block_in_place(|| plans.recv())?;
        answer(address, &serde_json::from_slice(&fs::read(path)?)?).await?;
    }
}

async fn answer(address: &str, plan: &Value) -> Result<(), Failed> {
    let text = |name: &str| plan[name].as_str().ok_or_else(|| format!("the plan has no {name}"));
    let ctx = context(address, plan["partitions"].as_u64()).await?;
    let folder = PathBuf::from(text("folder")?);
    register(&ctx, "history", text("history")?).await?;
    if let Some(moved) = plan["moved"].as_str() {
        let columns = Schema::new(vec![
            Field::new("txn", DataType::Int64, true),
            Field::new("pos", DataType::Int64, true),
            Field::new("counts", DataType::Int32, true),
        ]);
        ctx.register_csv("moved", moved, CsvReadOptions::new().has_header(false).schema(&columns)).await?;
    }
    if let Some(before) = plan["before"].as_str() {
        register(&ctx, "before", before).await?;
    }
    let mut empty = BTreeSet::new();
    let kept: Vec<&str> = plan["kept"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for view in plan["views"].as_array().into_iter().flatten() {
        let (Some(name), Some(query)) = (view[0].as_str(), view[1].as_str()) else {
            return Err("a view is broken".into());
        };
        let mut frame = ctx.sql(query).await?;
        if plan["empty_with"][name].as_str().is_some_and(|it| empty.contains(it)) {
            frame = frame.limit(0, Some(0))?;
        }
        if kept.contains(&name) {
            // Written here and not by the executors: what a dead one has written would stand beside what is written for it.
            let file = folder.join(format!("{name}.parquet"));
            if keep(frame, &file).await? == 0 {
                empty.insert(name);
            }
            register(&ctx, name, &file.display().to_string()).await?;
        } else {
            ctx.register_table(name, frame.into_view())?;
        }
    }
    let mut result = json!({
        "rows": count(&ctx, "history").await?,
        "other_kinds": kinds(&ctx).await?,
        "broken": count(&ctx, "broken").await?,
        "keys": count(&ctx, "misfit_keys").await?,
        "misfits": count(&ctx, "misfit_txns").await?,
        "txns": count(&ctx, "txns").await?,
        "part_rows": 0,
    });
    if result["keys"] != 0 || result["misfits"] != 0 {
        let n_rows = count(&ctx, "part").await?;
        result["part_rows"] = n_rows.into();
        if n_rows <= plan["max_part_rows"].as_i64().unwrap_or(0) {
            keep(ctx.sql("SELECT * FROM part ORDER BY txn, op").await?, Path::new(text("part")?)).await?;
        }
    }
    // It is there as a whole, or not at all.
    let path = text("result")?;
    fs::write(format!("{path}.new"), result.to_string())?;
    Ok(fs::rename(format!("{path}.new"), path)?)
}

async fn context(address: &str, partitions: Option<u64>) -> Result<SessionContext, Failed> {
    let address = address.strip_prefix("ballista://").ok_or("an address is ballista://HOST:PORT")?;
    let mut config = SessionConfig::new_with_ballista()
        .set_bool("datafusion.execution.parquet.schema_force_view_types", false)
        .set_bool("datafusion.sql_parser.map_string_types_to_utf8view", false);
    if let Some(n) = partitions {
        config = config.with_target_partitions(usize::try_from(n)?);
    }
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    Ok(SessionContext::remote_with_state(&format!("df://{address}"), state).await?)
}

/// A directory of files, or one file, whatever its name ends in.
async fn register(ctx: &SessionContext, name: &str, path: &str) -> Result<(), Failed> {
    let is_folder = Path::new(path).is_dir();
    let (path, ending) = if is_folder { (format!("{path}/"), ".parquet") } else { (path.to_owned(), "") };
    let options = ParquetReadOptions { file_extension: ending, ..ParquetReadOptions::default() };
    Ok(ctx.register_parquet(name, path, options).await?)
}

async fn count(ctx: &SessionContext, name: &str) -> Result<i64, Failed> {
    let batches = ctx.sql(&format!("SELECT COUNT(*) AS n FROM {name}")).await?.collect().await?;
    let column = batches.iter().find(|it| it.num_rows() > 0).map(|it| Arc::clone(it.column(0)));
    let numbers = column.as_ref().and_then(|it| it.as_any().downcast_ref::<Int64Array>());
    Ok(numbers.ok_or("a count is missing")?.value(0))
}

async fn kinds(ctx: &SessionContext) -> Result<Vec<String>, Failed> {
    let mut found = Vec::new();
    for batch in ctx.sql("SELECT kind FROM other_kinds").await?.collect().await? {
        let column = cast(batch.column(0), &DataType::Utf8)?;
        let texts = column.as_any().downcast_ref::<StringArray>().ok_or("kinds are texts")?;
        found.extend(texts.iter().flatten().map(str::to_owned));
    }
    Ok(found)
}

/// Writes rows as they come: they may be more than fit into memory. Says how many there are.
async fn keep(frame: DataFrame, path: &Path) -> Result<usize, Failed> {
    let schema = plain(frame.schema().as_arrow());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = ArrowWriter::try_new(File::create(path)?, Arc::clone(&schema), Some(properties))?;
    let mut n_rows = 0;
    let mut stream: SendableRecordBatchStream = frame.execute_stream().await?;
    while let Some(batch) = next(&mut stream).await {
        let batch = batch?;
        n_rows += batch.num_rows();
        let columns = batch.columns().iter().zip(schema.fields()).map(|(it, field)| cast(it, field.data_type()));
        file.write(&RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<_, _>>()?)?)?;
    }
    file.close()?;
    Ok(n_rows)
}

async fn next(stream: &mut SendableRecordBatchStream) -> Option<datafusion::error::Result<RecordBatch>> {
    std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await
}

/// The same columns, with texts as files of Parquet have them.
fn plain(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|it| {
        let kind = if *it.data_type() == DataType::Utf8View { DataType::Utf8 } else { it.data_type().clone() };
        Field::new(it.name(), kind, true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
