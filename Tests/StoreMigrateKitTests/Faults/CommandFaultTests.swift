// Each command that changes something, with a system call that fails, is delayed, or is the last one before
// a kill.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(
  .tags(.faults, .slow), .serialized, .enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
struct CommandFaults {
  /// The faults of a run: one of each kind, at calls that change every day. The long form has each kind at
  /// each call.
  static func faults(of count: Int) -> [Fault] {
    let kinds = [
      Fault.Kind.kill, .torn, .error(EIO), .error(ENOSPC), .errors(ENOSPC), .delay(milliseconds: 20),
    ]
    guard !isTorture else {
      return kinds.flatMap { kind in FaultInjector.indices(of: count).map { Fault(kind, at: $0) } }
    }
    return kinds.enumerated().map { place, kind in
      Fault(kind, at: 1 + (Rotation.seed + place * count / kinds.count) % max(count, 1))
    }
  }

  @Test(arguments: ChangingCommand.all)
  func `after a fault the command was done or not, as reported, and a second run cleans up`(
    _ command: ChangingCommand
  ) async throws {
    let bench = try await Bench(command)
    try bench.reset()
    let clean = try await bench.run()
    try #require(clean.result.status == 0, "\(clean.result)")
    #expect(try bench.isDone() && bench.leftovers.isEmpty, "\(bench.folder.names)")
    for fault in Self.faults(of: clean.calls.count) {
      try bench.reset()
      let run = try await bench.run(fault)
      let call = run.calls.count >= fault.index ? run.calls[fault.index - 1].description : "no such call"
      let place: Comment = "\(fault), \(call): \(run.result)"
      do {
        let isDone = try bench.isDone()
        check(fault, run: run, isDone: isDone, command: command, place: place)
        let again = try await bench.run(isAgain: isDone)
        #expect(again.result.status == 0, "once more: \(again.result), after \(place)")
        // A second change of the key returns to the first key.
        let isBack = if case .newKey = command.effect { isDone } else { false }
        #expect(try bench.isDone() != isBack, place)
      } catch { Issue.record("\(error) after \(place) \(bench.folder.names)") }
      #expect(bench.leftovers.isEmpty, place)
      #expect(bench.isOthersUntouched, place)
    }
  }

  private func check(
    _ fault: Fault, run: FaultInjector.Run, isDone: Bool, command: ChangingCommand, place: Comment
  ) {
    switch fault.kind {
    case .kill, .torn: return
    case .delay: #expect(run.result.status == 0, place)
    default: break
    }
    if run.result.status == 0 {
      #expect(isDone, place)
    } else {
      #expect(command.isTrue(run.result.errors, isDone: isDone), place)
      #expect(!run.result.errors.contains("not an error"), place)
    }
  }

  @Test func `restore leaves no log of the former file, even if a file could not be deleted`() async throws {
    let line = "restore @other.store @log.store --yes"
    let command = try #require(ChangingCommand.all.first { $0.testDescription == line })
    let bench = try await Bench(command)
    try bench.reset()
    let count = try await bench.run(calls: ["unlink"]).calls.count
    try #require(count > 0)
    for index in 1...count {
      try bench.reset()
      let run = try await bench.run(Fault(.error(EIO), at: index), calls: ["unlink"])
      let place: Comment = "\(index) of \(count): \(run.result) \(bench.folder.names)"
      #expect(try bench.isDone() == (run.result.status == 0), place)
      #expect(run.result.status != 0 || bench.leftovers.isEmpty, place)
    }
  }

  @Test func `copies can be made where files can neither be linked nor renamed without replacing`()
    async throws
  {
    for command in ChangingCommand.all {
      guard case .copy(let name) = command.effect else { continue }
      let bench = try await Bench(command)
      try bench.reset()
      let run = try await bench.run(lacks: "renameat2,link")
      #expect(run.result.status == 0 && bench.leftovers.isEmpty, "\(run.result)")
      #expect(try bench.isDone())
      // An existing file is not replaced.
      let before = try bench.folder.bytes(name)
      let second = try await bench.run(lacks: "renameat2,link")
      #expect(second.result.status != 0, "\(second.result)")
      #expect(try bench.folder.bytes(name) == before)
    }
  }

  static let naming = ChangingCommand.all.filter {
    ["backup", "encrypt", "create", "up"].contains($0.words[0]) && !$0.words.contains("--vacuum")
  }

  @Test(arguments: naming, [Fault.Kind.kill, .errors(EIO)])
  func `a new file opens whose temporary name could not be removed, and that name goes later`(
    _ command: ChangingCommand, _ kind: Fault.Kind
  ) async throws {
    let bench = try await Bench(command)
    try bench.reset()
    let count = try await bench.run(calls: ["unlink"], lacks: "renameat2").calls.count
    var met = 0
    for index in 1...max(count, 1) {
      try bench.reset()
      let run = try await bench.run(Fault(kind, at: index), calls: ["unlink"], lacks: "renameat2")
      let place: Comment = "\(index) of \(count): \(run.result) \(bench.folder.names)"
      let doubled = bench.folder.names.filter { name in
        let values = try? FileManager.default.attributesOfItem(atPath: bench.folder.path(name))
        return values?[.type] as? FileAttributeType == .typeRegular && values?[.referenceCount] as? Int == 2
      }
      let isFormer = { (name: String) in name.hasSuffix(".unfinished") || TemporaryName.isOurs(name) }
      for name in doubled where !isFormer(name) {
        met += 1
        let key = Key.raw(command.words[0] == "encrypt" ? Template.newKey : Template.key)
        try Connection.open(bench.folder.path(name), key: key).close()
        #expect(bench.folder.names.contains(name), place)
      }
      // A file that has only its temporary name is removed by the next run.
      if doubled.allSatisfy(isFormer) { _ = try await bench.run() }
      #expect(!bench.folder.names.contains { doubled.contains($0) && isFormer($0) }, place)
      #expect(bench.isOthersUntouched, place)
    }
    #expect(met > 0, "\(count) calls")
  }

  static let filling = ChangingCommand.all.filter { !$0.words.contains("create") }

  @Test(arguments: filling)
  func `a full disk exits with 6, and the message about the files is true`(_ command: ChangingCommand)
    async throws
  {
    let bench = try await Bench(command)
    try bench.reset()
    let writes = try await bench.run(calls: ["write"]).calls.count
    for index in FaultInjector.indices(of: writes, most: 2) {
      try bench.reset()
      let run = try await bench.run(Fault(.errors(ENOSPC), at: index), calls: ["write"])
      let place: Comment = "\(index) of \(writes): \(run.result)"
      #expect(!run.result.errors.contains("not an error"), place)
      do {
        let isDone = try bench.isDone()
        // The writes of a journal are the engine's own, and it does not report their errors.
        let isUntold = run.result.errors.contains("reported success but changed nothing")
        #expect(run.result.status == 6 || isDone && run.result.status == 0 || isUntold, place)
        if run.result.status != 0 { #expect(command.isTrue(run.result.errors, isDone: isDone), place) }
      } catch { Issue.record("\(error): \(place)") }
      #expect(bench.isOthersUntouched && bench.inClear.isEmpty, place)
    }
  }
}
