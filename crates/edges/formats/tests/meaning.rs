//! What small files of each foreign format mean, in our notation.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use iso_formats::{CobraIdentity, Expectation, Format, ReadOptions, read_from, write};

#[track_caller]
fn means(bytes: &[u8], format: Format, expected: &str) {
    let reading = read_from("T1.log", bytes, &ReadOptions::default()).unwrap();
    assert_eq!(reading.format, format);
    assert!(reading.defects.is_empty(), "{:?}", reading.defects);
    let mut text = Vec::new();
    write(&reading.history.unwrap(), Format::Text, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn elle_outcomes() {
    let edn = "{:index 0, :type :invoke, :process 0, :f :txn, :time 1, :value [[:append 8 1] [:r 8 nil]]}
        {:index 1 :type :invoke :process 1 :f :txn :time 2 :value [[:append 8 2] [:r 9 nil]]} ; a comment
        {:type :info, :process :nemesis, :f :start, :value [:isolated {\"n1\" #{\"n2\"}}]}
        {:index 2, :type :ok, :process 0, :f :txn, :time 3, :value [[:append 8 1] [:r 8 [1]]]}
        {:index 3, :type :info, :process 1, :f :txn, :time 4, :value [[:append 8 2] [:r 9 nil]], :error :timeout}
        {:index 4, :type :invoke, :process 1, :f :txn, :time 5, :value [[:r 7 nil] [:append 8 3]]}
        {:index 5, :type :fail, :process 1, :f :txn, :time 6, :value [[:r 7 nil] [:append 8 3]]}
        {:index 6, :type :ok, :process 0, :f :txn, :time 7, :value [[:r 7 nil] [:r 8 nil] [:w x :y] [:r z 1.5M]]}
        {:index 7, :type :invoke, :process 0, :f :txn, :time 8, :value [[:append 8 4]]}";
    let expected = "0: { append(8,1) r(8,[1]) } @[1,3] { r(7,-) r(8,[]) w(x,y) r(z,1.5) } @[,7] { append(8,4) } unknown @[8,]\n\
                    1: { append(8,2) } unknown @[2,]\n\
                    1/2: { append(8,3) } abort @[5,6]\n";
    means(edn.as_bytes(), Format::Elle, expected);
    means(format!("[{edn}]").as_bytes(), Format::Elle, expected);
    means(b"#jepsen.history.Op{:type :ok, :process 3, :f :txn, :value [[:w 1 2]]}", Format::Elle, "3: { w(1,2) }\n");
}

/// Two transactions of two processes, one after the other; `{}` stands for what an event says about when it was.
fn elle_events(whens: [&str; 4]) -> String {
    let [first, second, third, fourth] = whens;
    format!(
        "{{:type :invoke, :process 0, :f :txn, {first} :value [[:w 1 2]]}}
        {{:type :ok, :process 0, :f :txn, {second} :value [[:w 1 2]]}}
        {{:type :invoke, :process 1, :f :txn, {third} :value [[:r 1 nil]]}}
        {{:type :ok, :process 1, :f :txn, {fourth} :value [[:r 1 2]]}}"
    )
}

#[test]
fn elle_events_without_times_happen_in_their_order() {
    let by_index = elle_events([":index 4,", ":index 6,", ":index 7,", ":index 9,"]);
    means(by_index.as_bytes(), Format::Elle, "0: { w(1,2) } @[4,6]\n1: { r(1,2) } @[7,9]\n");
    let by_place = "0: { w(1,2) } @[1,2]\n1: { r(1,2) } @[3,4]\n";
    means(elle_events([""; 4]).as_bytes(), Format::Elle, by_place);
    means(elle_events([":time 0,"; 4]).as_bytes(), Format::Elle, by_place);
    means(elle_events([":index 0,", ":index 0,", ":index 1,", ""]).as_bytes(), Format::Elle, by_place);
}

#[test]
fn elle_times_that_are_not_known_stay_so() {
    means(elle_events([":time nil,"; 4]).as_bytes(), Format::Elle, "0: { w(1,2) }\n1: { r(1,2) }\n");
    let some = elle_events([":time 10,", "", ":index 3, :time 5,", ""]);
    means(some.as_bytes(), Format::Elle, "0: { w(1,2) } @[10,]\n1: { r(1,2) } @[5,]\n");
}

#[test]
fn elle_in_json() {
    let lines = "{\"type\":\"invoke\",\"process\":0,\"f\":\"txn\",\"time\":0,\"value\":[[\"r\",2,null],[\"append\",8,20]]}\n\
                 {\"type\":\"ok\",\"process\":0,\"f\":\"txn\",\"time\":9,\"value\":[[\"r\",2,null],[\"append\",8,20]]}\n";
    let expected = "0: { r(2,-) append(8,20) } @[0,9]\n";
    means(lines.as_bytes(), Format::ElleJson, expected);
    means(format!("[{}]", lines.trim().replace('\n', ",")).as_bytes(), Format::ElleJson, expected);
}

#[test]
fn plume_aborted_and_interleaved_transactions() {
    let lines = "r(x,0,1,1)\nw(y,1,2,2)\nw(x,1,1,1)\nw(x,2,1,-1)\nr(y,7,1,-1)\n r( x , 1 , 1 , 3 )\n\n";
    let expected = "init x=0 y=0\n1: { r(x,0) w(x,1) } { w(x,2) r(y,7) } abort { r(x,1) }\n2: { w(y,1) }\n";
    means(lines.as_bytes(), Format::Plume, expected);
}

#[test]
fn isopredict_versions_are_named_by_their_writers() {
    let lines = "WRITE KEY[5] Txn(0, 0)\nREAD KEY[5] Txn(2, 0) From(0, 0)\nINSERT[7] to Set[6] Txn(2, 0)\n\
                 CONTAINS[7] in Set[6] From(2, 0) Txn(1, 0)\nDELETE[7] from Set[6] Txn(1, 1)\nWRITE KEY[5] Txn(2, 1)\n";
    let expected = "init 5=init \"Set(6:7)\"=init\n\
                    s2: { r(5,init) w(\"Set(6:7)\",s2.1) } { w(5,s2.2) }\n\
                    s1: { r(\"Set(6:7)\",s2.1) } { w(\"Set(6:7)\",s1.2) }\n";
    means(lines.as_bytes(), Format::IsoPredict, expected);
}

#[test]
fn dbcop_leaves_out_what_did_not_succeed() {
    let mut bytes = Vec::new();
    let mut put = |numbers: &[i64]| numbers.iter().for_each(|it| bytes.extend_from_slice(&it.to_le_bytes()));
    put(&[0, 1, 1, 2, 2, 0, 0, 0, 1, 2, 2]);
    let event = |is_write: u8, key: i64, value: i64, success: u8| {
        [&[is_write][..], &key.to_le_bytes(), &value.to_le_bytes(), &[success]].concat()
    };
    bytes.extend(event(1, 4, 9, 1));
    bytes.extend(event(0, 4, 9, 0));
    bytes.push(1);
    bytes.extend(1i64.to_le_bytes());
    bytes.extend(event(0, 4, 9, 1));
    bytes.push(0);
    means(&bytes, Format::Dbcop, "init 4=0\ns1: { w(4,9) } { r(4,9) } abort\n");
}

#[test]
fn dbcop_json_versions() {
    let json = "{\"params\":{\"id\":0},\"info\":\"x\",\"data\":[[{\"events\":[{\"Write\":{\"variable\":0,\"version\":1}},\
                {\"Read\":{\"version\":null,\"variable\":1}}],\"committed\":true}],[{\"committed\":false,\"events\":[]}]]}";
    means(json.as_bytes(), Format::DbcopJson, "s1: { w(0,1) r(1,-) }\ns2: { } abort\n");
}

fn cobra(records: &[(u8, &[i64])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (tag, numbers) in records {
        bytes.push(*tag);
        numbers.iter().for_each(|it| bytes.extend_from_slice(&it.to_be_bytes()));
    }
    bytes
}

#[test]
fn cobra_identity_is_decided_by_looking() {
    let unknown = 0xabdd_efee;
    let values = cobra(&[
        (b'S', &[1]),
        (b'R', &[0xbebe_ebee, 0xbebe_ebee, 3, 77]),
        (b'W', &[unknown, 3, 8]),
        (b'C', &[1]),
        (b'S', &[2]),
        (b'R', &[unknown, unknown, 3, 8]),
        (b'R', &[0xbebe_ebee, 0xbebe_ebee, 3, 78]),
        (0xff, &[]),
    ]);
    means(&values, Format::Cobra, "T1: { r(3,-) w(3,8) } { r(3,8) r(3,init/v78) } unknown\n");
    let writers =
        cobra(&[(b'S', &[1]), (b'W', &[5, 3, 8]), (b'C', &[1]), (b'S', &[2]), (b'R', &[1, 5, 3, 8]), (b'C', &[2])]);
    means(&writers, Format::Cobra, "T1: { w(3,w5/t1/v8) } { r(3,w5/t1/v8) }\n");
    let options = ReadOptions { cobra_identity: Some(CobraIdentity::Values), ..ReadOptions::default() };
    let history = read_from("T1.log", writers.as_slice(), &options).unwrap().into_history().unwrap();
    let op = history.ops(history.txns().next().unwrap()).next().unwrap();
    assert_eq!(history.render_op(op), "w(3,w5/v8)");
}

#[test]
fn text_headers_are_kept() {
    let text = "# expect: rc; not ser (write-skew)\n# source: Berenson et al. 1995\n# expect: cc\ninit *=0\ns1: { r(x,0) }\n\
                s2: { } { w(x,1) } unknown @[1,2] # a comment\n  { r(x,1) } @[,9] abort\n";
    let reading = read_from("test", text.as_bytes(), &ReadOptions::default()).unwrap();
    let expectation = |level: &str, holds, anomaly: Option<&str>| Expectation {
        level: level.to_owned(),
        holds,
        anomaly: anomaly.map(str::to_owned),
    };
    let expected =
        [expectation("rc", true, None), expectation("ser", false, Some("write-skew")), expectation("cc", true, None)];
    assert_eq!(reading.header.expectations, expected);
    assert_eq!(reading.header.source.as_deref(), Some("Berenson et al. 1995"));
    let expected = "init x=0\ns1: { r(x,0) }\ns2: { } { w(x,1) } unknown @[1,2] { r(x,1) } abort @[,9]\n";
    means(text.as_bytes(), Format::Text, expected);
}

/// An operation `:init` makes keys rows.
#[test]
fn elle_reads_by_predicate() {
    let edn = "{:type :invoke, :process 0, :f :init, :value {:x 1, 2 5}}
{:type :ok, :process 0, :f :init, :value {:x 1, 2 5}}
{:type :invoke, :process 0, :f :txn, :value [[:rp [:mod 2 1] nil] [:insert :y 3]]}
{:type :invoke, :process 1, :f :txn, :value [[:rp :true nil] [:delete :x]]}
{:type :ok, :process 0, :f :txn, :value [[:rp [:mod 2 1] {:x 1, 2 5}] [:insert :y 3]]}
{:type :info, :process 1, :f :txn, :value [[:rp :true nil] [:delete :x]]}
{:type :ok, :process 2, :f :txn, :value [[:rp [:= 5] {2 5}] [:r :x nil] [:r :y] [:w 2 7]]}
";
    let expected = "init rows/x=1 rows/2=5\n\
        0: { scan(rows, value mod 2 = 1, {rows/x=1, rows/2=5}) w(rows/y,3) } @[3,5]\n\
        1: { w(rows/x,-) } unknown @[4,]\n\
        2: { scan(rows, value = 5, {rows/2=5}) r(rows/x,-) r(rows/y,-) w(rows/2,7) } @[,7]\n";
    means(edn.as_bytes(), Format::Elle, expected);
}

/// What cannot be read is refused, and never dropped.
#[test]
fn elle_predicates_that_are_not_understood_are_refused() {
    let init = |kind: &str| format!("{{:type :{kind}, :process 0, :f :init, :value {{:x 1}}}}\n");
    let txn = |mop: &str| format!("{{:type :ok, :process 0, :f :txn, :value [[:r 1 2] {mop}]}}\n");
    let has_no_rows = "is not known which there were at first";
    for (text, why) in [
        (txn("[:rp :true {1 2}]"), has_no_rows),
        (txn("[:insert 1 2]"), has_no_rows),
        (txn("[:delete 1]"), has_no_rows),
        (txn("") + &init("ok"), "comes before all transactions"),
        (init("ok") + &init("ok"), "there is one operation :init"),
        (init("info"), "nobody knows which rows there were"),
        (init("ok").replace("{:x 1}", "[1]"), "a map of keys and values"),
        (init("ok") + &txn("[:rp [:< 3] {}]"), "[:mod divisor remainder], found [:rp [:< 3] {}]"),
        (init("ok") + &txn("[:rp [:mod 0 1] {}]"), "found [:rp [:mod 0 1] {}]"),
        (init("ok") + &txn("[:rp :true [1]]"), "found [:rp :true [1]]"),
        (init("ok") + &txn("[:append 1 2]"), "found [:append 1 2]"),
        (init("ok") + &txn("[:insert 1 nil]"), "found [:insert 1 nil]"),
        (init("ok") + &txn("[:delete 1 5]"), "found [:delete 1 5]"),
    ] {
        let options = ReadOptions { format: Some(Format::Elle), ..ReadOptions::default() };
        let reading = read_from("test", text.as_bytes(), &options).unwrap();
        assert!(reading.history.is_none(), "{text}");
        assert!(reading.defects[0].message.contains(why), "{text}: {:?}", reading.defects);
    }
}
