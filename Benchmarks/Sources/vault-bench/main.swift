// vault-bench [--json] [--only N,M] [--rows N] [--runs N] [--each]
// the workloads but 40 to 44
// vault-bench [--json] [--only N,M] [--runs N] [--each] --package-index SCRIPT
// workloads 40 to 44, against SCRIPT, which is package_index.py
// vault-bench --compare PROGRAM [--only N,M] [--rows N] [--runs N] [--package-index SCRIPT]
// the same workloads by this program and by PROGRAM, another build of it, in pairs of runs
// vault-bench [--rows N] --memory
// the bytes that an object of ten integers takes besides its row (workload 18)

import CipherSQLite
import Foundation
import ObjectVault
import StoreMigrateKit

// Workloads 36 and 37 start this program as the tool.
if let command = CommandLine.arguments.dropFirst().first, ["embed", "lint", "check"].contains(command) {
  await StoreMigrate.main()
}

var isJSON = false
// Prints every run on standard error, too: on a machine whose speed changes, the fastest runs are the
// most reliable.
var showsEachRun = false
var only: Set<Int> = []
var rowsOverride: Int?
var runs = 7
// The program of another revision, which is run in pairs with this one.
var former: String?
// The Python program that workload 40 is compared with.
var script: String?
var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst() {
  switch word {
  case "--json": isJSON = true
  case "--compare": former = words.popFirst()
  case "--each": showsEachRun = true
  case "--only": only = Set((words.popFirst() ?? "").split(separator: ",").compactMap { Int($0) })
  case "--rows": rowsOverride = words.popFirst().flatMap { Int($0) }
  // Workload 9 starts this program with these two options: a process compiles its first predicate only
  // once.
  case "--first":
    print(try await Bench().compilePredicate(1))
    exit(0)
  case "--first-floor":
    print(try await Bench().prepareSameSQL(1))
    exit(0)
  // Workload 14 starts this program with this option, to measure the peak memory of a process.
  case "--migration-peak":
    _ = try await MigrationBench.ours(words.popFirst().flatMap { Int($0) } ?? 0)
    print(peakBytes())
    exit(0)
  case "--package-index": script = words.popFirst()
  // Workload 40 starts this program with this option.
  case "--import-index":
    guard let index = words.popFirst(), let store = words.popFirst() else { exit(64) }
    try await PackageImport.run(index, into: URL(fileURLWithPath: store))
    exit(0)
  case "--memory":
    print(try await MemoryBench.perObject(rowsOverride ?? 1_000_000))
    exit(0)
  // `--memory` starts this program with this option, for a store that another process has filled.
  case "--memory-of":
    print(try await MemoryBench.ofAll(URL(fileURLWithPath: words.popFirst() ?? "")))
    exit(0)
  case "--runs": runs = max(1, words.popFirst().flatMap { Int($0) } ?? 7)
  default:
    FileHandle.standardError.write(
      Data(
        "vault-bench [--json] [--only N,M] [--rows N] [--runs N] [--each] [--compare PROGRAM] [--memory]\n"
          .utf8))
    exit(64)
  }
}
if let former {
  let options =
    (script.map { ["--package-index", $0] } ?? [])
    + (only.isEmpty ? [] : ["--only", only.sorted().map { "\($0)" }.joined(separator: ",")])
    + (rowsOverride.map { ["--rows", "\($0)"] } ?? [])
  print(try Comparison(former: former, options: options).run(pairs: runs))
  exit(0)
}
if let script {
  shareAllocator()
  guard let index = try await PackageIndexBench(script: script) else {
    print("No package lists of Debian on this machine: there is nothing to import.")
    exit(0)
  }
  var results: [Measured] = []
  for workload in index.workloads where only.isEmpty || only.contains(workload.number) {
    FileHandle.standardError.write(Data("\(workload.number) \(workload.name) …\n".utf8))
    results.append(try await workload.measure(runs: runs, showingEach: showsEachRun))
  }
  try show(results, runs: runs, asJSON: isJSON)
  exit(0)
}
let rows = { [rowsOverride] (usual: Int) in rowsOverride ?? usual }

let bench = try await Bench()
let tracks = sampleTracks(rows(100_000))
let tenCount = rows(200_000)
let lookUps = min(50_000, tracks.count)
let ids = (0..<lookUps).map { Int64(($0 &* 7919) % tracks.count + 1) }
if only.isEmpty || !only.isDisjoint(with: [2, 3, 31, 32]) { try bench.fillTens(tenCount) }

let poolPath = bench.folder.appendingPathComponent("pool.store").path
_ = try Connection.create(poolPath, key: .passphrase("correct horse")) { try $0.execute("CREATE TABLE t(x)") }

// The rows that are looked up and updated have a store of their own, so that their ids begin at 1.
let reads = try await Bench()
if only.isEmpty || !only.isDisjoint(with: [4, 5, 6, 7, 47]) {
  _ = reads.floorInsert(tracks)
  _ = try reads.oursInsert(tracks)
}
let migrated = rows(1_000_000)
let objects = rows(1_000_000)
let rekeyed = 1000 * rows(200_000)
let manyPath = bench.folder.appendingPathComponent("many.store").path
if only.isEmpty || !only.isDisjoint(with: [19, 30]) {
  try ConnectionBench.create(manyPath, bytes: 20_000_000)
}
let tens = try Connection.open(
  bench.folder.appendingPathComponent("ours.store").path, key: .raw(rawKey))
let many = (only.isEmpty || only.contains(30)) ? try Connection.open(manyPath, key: .raw(rawKey)) : tens
let manyFloor =
  (only.isEmpty || only.contains(30)) ? Floor(manyPath) : Floor(bench.folder.appendingPathComponent("x").path)
let graph =
  (only.isEmpty || !only.isDisjoint(with: [8, 10, 11])) ? try await GraphBench(posts: rows(100_000)) : nil
let grouped =
  (only.isEmpty || !only.isDisjoint(with: [17, 23, 24, 25]))
  ? try await ResultBench(lines: rows(500_000)) : nil
let bulk =
  (only.isEmpty || !only.isDisjoint(with: [20, 29, 38])) ? try await BulkBench(replies: rows(100_000)) : nil
let recorded = (only.isEmpty || !only.isDisjoint(with: [22, 28])) ? try HistoryBench(tracks) : nil
let undone = (only.isEmpty || only.contains(21)) ? try await UndoBench(tracks) : nil
let paged = (only.isEmpty || only.contains(27)) ? try await PageBench(rows: rows(1_000_000)) : nil
let texts = (only.isEmpty || only.contains(26)) ? try await TextBench(texts: rows(50_000)) : nil
// A value that no row has at first, so that each row is changed.
var stamp = 1_000_000
let chains = bench.folder.appendingPathComponent("Chain")
try FileManager.default.createDirectory(at: chains, withIntermediateDirectories: true)
if only.isEmpty || !only.isDisjoint(with: [36, 37]) { try ChainBench.writeFiles(500, into: chains) }
let isOpened = only.isEmpty || only.contains(35)
let long = isOpened ? try await ChainBench.UpToDate(500, in: bench.folder) : nil

let workloads = [
  Workload(number: 1, name: "insert Track, one save", rows: tracks.count, firstStage: 2.5, goal: 1.2) {
    bench.floorInsert(tracks)
  } ours: {
    try bench.oursInsert(tracks)
  },
  Workload(
    number: 2, name: "fetch ten integers, touch none", rows: tenCount, firstStage: 1.6, goal: 0.85,
    countsProcess: true
  ) {
    bench.floorTens()
  } ours: {
    try await bench.oursTens(readingAll: false)
  },
  Workload(
    number: 3, name: "fetch ten integers, read all", rows: tenCount, firstStage: 2.2, goal: 1.1,
    countsProcess: true
  ) {
    bench.floorTens()
  } ours: {
    try await bench.oursTens(readingAll: true)
  },
  Workload(
    number: 4, name: "fetch mixed Track, read all", rows: tracks.count, firstStage: 2.0, goal: 1.0,
    countsProcess: true
  ) {
    reads.floorTracks()
  } ours: {
    try await reads.oursTracks()
  },
  Workload(number: 5, name: "look up by id, cold", rows: lookUps, firstStage: 2.2, goal: 1.15) {
    reads.floorLookUps(ids)
  } ours: {
    try await reads.oursLookUps(ids, isWarm: false)
  },
  Workload(
    number: 5, name: "the same, every attribute read", rows: lookUps, firstStage: 2.2, goal: 1.15,
    isBeside: true
  ) {
    reads.floorLookUps(ids)
  } ours: {
    try await reads.oursLookUps(ids, isWarm: false, readingAll: true)
  },
  Workload(number: 6, name: "look up by id, warm", rows: lookUps, firstStage: 0.15, goal: 0.04) {
    reads.floorLookUps(ids)
  } ours: {
    try await reads.oursLookUps(ids, isWarm: true)
  },
  Workload(number: 7, name: "change one attribute, save", rows: lookUps, firstStage: 2.5, goal: 1.05) {
    stamp += 1
    return reads.floorUpdate(lookUps, stamp)
  } ours: {
    // The same value as the loop: one that takes more bytes would make rows longer and split pages.
    try reads.oursUpdate(lookUps, stamp)
  },
  Workload(
    number: 7, name: "the same, by a loop of OR FAIL", rows: lookUps, firstStage: 2.5, goal: 1.05,
    isBeside: true
  ) {
    stamp += 1
    return reads.floorUpdate(lookUps, stamp, "OR FAIL")
  } ours: {
    try reads.oursUpdate(lookUps, stamp)
  },
  Workload(number: 9, name: "compile a predicate, repeated", rows: 1000, firstStage: 0.2, goal: 0.05) {
    try await bench.prepareSameSQL(1000)
  } ours: {
    try await bench.compilePredicate(1000)
  },
  Workload(
    number: 8, name: "predicate over a join, a tenth", rows: rows(100_000) / 10, firstStage: 1.5, goal: 0.95
  ) {
    graph?.floorJoin() ?? .nan
  } ours: {
    try await graph?.oursJoin() ?? .nan
  },
  Workload(
    number: 8, name: "a join, every attribute read", rows: rows(100_000) / 10, firstStage: 1.5, goal: 0.95,
    isBeside: true
  ) {
    graph?.floorJoin() ?? .nan
  } ours: {
    try await graph?.oursJoin(readingAll: true) ?? .nan
  },
  Workload(number: 23, name: "group by a key", rows: rows(500_000), firstStage: 1, goal: 1.05) {
    grouped?.floorGroups() ?? .nan
  } ours: {
    try await grouped?.oursGroups() ?? .nan
  },
  Workload(number: 24, name: "last of each group", rows: ResultBench.chats, firstStage: 1, goal: 1.1) {
    grouped?.floorFirsts() ?? .nan
  } ours: {
    try await grouped?.oursFirsts() ?? .nan
  },
  Workload(number: 25, name: "values of two columns", rows: rows(500_000), firstStage: 1.3, goal: 0.9) {
    grouped?.floorValues() ?? .nan
  } ours: {
    try await grouped?.oursValues() ?? .nan
  },
  Workload(number: 26, name: "CONTAINS[cd], to CONTAINS", rows: rows(50_000), firstStage: 5, goal: 3) {
    try await texts?.contains("") ?? .nan
  } ours: {
    try await texts?.contains("[cd]") ?? .nan
  },
  Workload(number: 27, name: "pages sorted without case", rows: PageBench.pages, firstStage: 1.5, goal: 1.2) {
    paged?.floorPages() ?? .nan
  } ours: {
    try await paged?.oursPages() ?? .nan
  },
  Workload(number: 17, name: "stream, sum one attribute", rows: rows(500_000), firstStage: 1.3, goal: 1.1) {
    grouped?.floorStream() ?? .nan
  } ours: {
    try await grouped?.oursStream() ?? .nan
  },
  Workload(number: 20, name: "live list after a commit", rows: 10_000, firstStage: 0.3, goal: 0.1) {
    try await bulk?.fetchAgain() ?? .nan
  } ours: {
    try await bulk?.observe() ?? .nan
  },
  Workload(number: 21, name: "undo of changes", rows: UndoBench.count, firstStage: 1.5, goal: 1.5) {
    try undone?.change() ?? .nan
  } ours: {
    try undone?.undo() ?? .nan
  },
  Workload(number: 22, name: "insert with a history", rows: tracks.count, firstStage: 2, goal: 1.35) {
    try await recorded?.insert(keepsHistory: false) ?? .nan
  } ours: {
    try await recorded?.insert(keepsHistory: true) ?? .nan
  },
  Workload(
    number: 22, name: "update with a history", rows: tracks.count / 2, firstStage: 2, goal: 1.5,
    isBeside: true
  ) {
    try await recorded?.update(keepsHistory: false) ?? .nan
  } ours: {
    try await recorded?.update(keepsHistory: true) ?? .nan
  },
  Workload(number: 28, name: "bytes with a history", rows: tracks.count, firstStage: 2, goal: 1.6) {
    try await recorded?.bytes(keepsHistory: false) ?? .nan
  } ours: {
    try await recorded?.bytes(keepsHistory: true) ?? .nan
  },
  Workload(number: 29, name: "update of all rows", rows: rows(100_000), firstStage: 1.4, goal: 1.1) {
    bulk?.floorUpdate() ?? .nan
  } ours: {
    try bulk?.oursUpdate() ?? .nan
  },
  Workload(
    number: 38, name: "deletion with a cascade", rows: rows(100_000) / 2, firstStage: 1.7, goal: 1.1
  ) {
    bulk?.floorDelete() ?? .nan
  } ours: {
    try await bulk?.oursDelete() ?? .nan
  },
  Workload(number: 10, name: "traverse to-ones, prefetched", rows: 10_000, firstStage: 2, goal: 1.1) {
    graph?.floorToOnes() ?? .nan
  } ours: {
    try await graph?.oursToOnes() ?? .nan
  },
  Workload(
    number: 10, name: "to-ones, every attribute read", rows: 10_000, firstStage: 2, goal: 1.1, isBeside: true
  ) {
    graph?.floorToOnes() ?? .nan
  } ours: {
    try await graph?.oursToOnes(readingAll: true) ?? .nan
  },
  Workload(
    number: 11, name: "delete 1000 with 50 each", rows: GraphBench.members * GraphBench.messages,
    firstStage: 2,
    goal: 1.15
  ) {
    try graph?.floorCascade() ?? .nan
  } ours: {
    try graph?.oursCascade() ?? .nan
  },
  Workload(number: 12, name: "open a pool of 5, passphrase", rows: 5, firstStage: 1.2, goal: 1.05) {
    Bench.deriveOnce(poolPath)
  } ours: {
    try Bench.openPool(poolPath)
  },
  Workload(number: 14, name: "migrate: add a column, rebuild", rows: migrated, firstStage: 1.3, goal: 1.05) {
    try MigrationBench.floor(migrated)
  } ours: {
    try await MigrationBench.ours(migrated)
  },
  // Both tables are larger than the cache of a connection, so memory that grows with the rows shows.
  Workload(
    number: 14, name: "its peak memory, of half as many rows", rows: migrated, firstStage: 1.05, goal: 1.05,
    unit: .bytes
  ) {
    try inFreshProcess("--migration-peak", "\(migrated / 2)")
  } ours: {
    try inFreshProcess("--migration-peak", "\(migrated)")
  },
  // The floor is the goal: the rows, and 112 bytes for each object.
  Workload(
    number: 18, name: "memory of objects (rows, 112 each)", rows: objects, firstStage: 1.1, goal: 1,
    unit: .bytes
  ) {
    Double(objects * (MemoryBench.rowBytes + 112))
  } ours: {
    Double(objects) * (Double(MemoryBench.rowBytes) + (try await MemoryBench.perObject(objects)))
  },
  Workload(number: 15, name: "rekey, with verification", rows: rekeyed / 1000, firstStage: 1.2, goal: 1.05) {
    try await ConnectionBench.floorRekey(rekeyed)
  } ours: {
    try await ConnectionBench.oursRekey(rekeyed)
  },
  // The floor is one reader that does as many reads. Eight readers are to be 1.6 and 1.9 times as fast,
  // so the goals are 1 / 1.6 and 1 / 1.9.
  Workload(
    number: 19, name: "8 readers beside a writer", rows: ConnectionBench.readsInAll, firstStage: 0.625,
    goal: 0.526
  ) {
    try await ConnectionBench.oneReader(manyPath)
  } ours: {
    try await ConnectionBench.eightReadersAndAWriter(manyPath)
  },
  // The connection layer alone.
  Workload(number: 30, name: "cached statement, look-up", rows: 100_000, firstStage: 1.5, goal: 1.2) {
    ConnectionBench.resetAndBind(manyFloor)
  } ours: {
    try ConnectionBench.lookUp(many)
  },
  Workload(number: 31, name: "typed cursor, ten integers", rows: tenCount, firstStage: 1.15, goal: 1.15) {
    ConnectionBench.floorCursor(bench.floor)
  } ours: {
    try ConnectionBench.oursCursor(tens)
  },
  Workload(
    number: 32, name: "first fetch of a cold file", rows: tenCount, firstStage: 1.5, goal: 0.95,
    countsProcess: true
  ) {
    ColdBench.floor(bench.folder.appendingPathComponent("floor.db").path)
  } ours: {
    try await ColdBench.ours(bench.folder.appendingPathComponent("ours.store"))
  },
  // Against the promised time, in seconds.
  Workload(number: 34, name: "200 steps, empty store (limit)", rows: 200, firstStage: 1, goal: 1) {
    1
  } ours: {
    try await ChainBench.migrate(200)
  },
  Workload(
    number: 13, name: "10,000 enqueued writes of one row, against commits", rows: min(10_000, tracks.count),
    firstStage: 1, goal: 0.005, countsProcess: true
  ) {
    bench.floorWrites(Array(tracks.prefix(10_000)))
  } ours: {
    try await bench.oursEnqueuedWrites(Array(tracks.prefix(10_000)))
  },
  Workload(
    number: 46, name: "1000 writes of one row", rows: 1000, firstStage: 2.5, goal: 2, countsProcess: true
  ) {
    bench.floorWrites(Array(tracks.prefix(1000)))
  } ours: {
    try await bench.oursWrites(Array(tracks.prefix(1000)))
  },
  Workload(
    number: 47, name: "fetch by 10,000 ids", rows: min(10_000, lookUps), firstStage: 1.5, goal: 1
  ) {
    reads.floorLookUps(Array(ids.prefix(10_000)))
  } ours: {
    try await reads.oursByList(Array(ids.prefix(10_000)))
  },
  Workload(
    number: 48, name: "find or make 20,000, in a write", rows: 20_000, firstStage: 12, goal: 12,
    countsProcess: true
  ) {
    bench.floorFindOrMake(20_000)
  } ours: {
    try await bench.oursFindOrMake(20_000, inWrite: true)
  },
  Workload(
    number: 48, name: "find or make 20,000, in a context", rows: 20_000, firstStage: 14, goal: 14,
    countsProcess: true
  ) {
    bench.floorFindOrMake(20_000)
  } ours: {
    try await bench.oursFindOrMake(20_000, inWrite: false)
  },
  // A store with 500 embedded steps, against opening its file with its key by the C interface, and a
  // millisecond more.
  Workload(number: 35, name: "open, 500 steps (bare + 1 ms)", rows: 500, firstStage: 1, goal: 1) {
    (long?.bareSeconds() ?? .nan) + 0.001
  } ours: {
    try await long?.seconds() ?? .nan
  },
  Workload(number: 36, name: "lint of 500 files (limit)", rows: 500, firstStage: 1, goal: 1) {
    0.5
  } ours: {
    try ChainBench.tool("lint", chains)
  },
  Workload(number: 37, name: "check of 500 files (limit)", rows: 500, firstStage: 1, goal: 1) {
    0.5
  } ours: {
    try ChainBench.tool("check", chains)
  },
]

var results: [Measured] = []
if only.isEmpty || only.contains(9) {
  results.append(
    try await Workload(
      number: 9, name: "compile a predicate, first", rows: 1, firstStage: 4, goal: 1.5
    ) {
      try inFreshProcess("--first-floor")
    } ours: {
      try inFreshProcess("--first")
    }.measure(runs: runs, showingEach: showsEachRun))
}
for workload in workloads where only.isEmpty || only.contains(workload.number) {
  if !isJSON { FileHandle.standardError.write(Data("\(workload.number) \(workload.name) …\n".utf8)) }
  results.append(try await workload.measure(runs: runs, showingEach: showsEachRun))
}
if only.isEmpty || only.contains(33) {
  results += try await SlopeBench.measure(runs: runs, showingEach: showsEachRun)
}
try show(results, runs: runs, asJSON: isJSON)
