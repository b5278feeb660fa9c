// Ctrl-C, SIGTERM and SIGHUP within the system calls of each command that changes something.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(
  .tags(.faults, .slow), .serialized, .enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
struct CommandSignals {
  static let signals = [SIGINT, SIGTERM, SIGHUP]

  @Test(arguments: ChangingCommand.all)
  func `after one or two signals the message is true, and no temporary file is left`(
    _ command: ChangingCommand
  ) async throws {
    let bench = try await Bench(command)
    try bench.reset()
    let clean = try await bench.run()
    try #require(clean.result.status == 0, "\(clean.result)")
    for (place, index) in FaultInjector.indices(of: clean.calls.count, most: 4).enumerated() {
      // The combinations change every day.
      let (signal, times) = (Self.signals[(place + Rotation.seed) % 3], 1 + (place + Rotation.seed / 3) % 2)
      try bench.reset()
      let run = try await bench.run(Fault(.signal(signal, times: times), at: index))
      try check(
        run, signal: signal, times: times, bench: bench,
        place: "\(times) × \(signal) at \(index) of \(clean.calls): \(run.result)")
    }
  }

  private func check(
    _ run: FaultInjector.Run, signal: Int32, times: Int, bench: Bench, place: Comment
  ) throws {
    let (status, errors) = (run.result.status, run.result.errors)
    do {
      let isDone = try bench.isDone()
      switch status {
      case 0: #expect(isDone, place)
      case 128 + signal:
        // The last line is the decisive one.
        let last = errors.split(separator: "\n").last.map(String.init) ?? ""
        // Only at the moment of the commit, and only after a second signal.
        if times == 2, last.contains("was in progress") || last.contains("To check whether") { break }
        #expect(bench.command.claim(in: last) == isDone, place)
        if !last.contains("Nothing was changed") { #expect(names(bench.command, last), place) }
      default: Issue.record(place)
      }
    } catch { Issue.record("\(error): \(place) \(bench.folder.names)") }
    #expect(bench.isOthersUntouched && bench.inClear.isEmpty, place)
    // A process that has changed nothing yet ends in the middle of its work, and may leave the engine's own
    // files. They are as encrypted as the store.
    let isEnded = times == 2 || errors.contains("Nothing was changed")
    let left = bench.leftovers.filter { name in
      !isEnded || !DatabasePath.companionSuffixes.contains { bench.command.store + $0 == name }
    }
    #expect(left.isEmpty, "\(left): \(place)")
  }

  /// Whether a message states what opens the file.
  private func names(_ command: ChangingCommand, _ text: String) -> Bool {
    switch command.effect {
    case .newKey: text.contains("OLD key") || text.contains("NEW key")
    case .newDataKey: text.contains("the slot")
    case .keyFile: text.contains("key file") || text.contains("slots are")
    case .content: text.contains("was not replaced") || text.contains("opens with the backup's key")
    case .newStore, .adopted: text.contains("was not created") || text.contains("its key")
    default: text.contains("its key") || text.contains("NOT encrypted")
    }
  }
}
