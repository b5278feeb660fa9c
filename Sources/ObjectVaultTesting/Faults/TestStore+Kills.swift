// A program that really dies while it writes, and what it leaves.

#if os(macOS) || os(Linux)
  internal import CipherSQLite
  public import Foundation
  internal import ObjectVault

  extension TestStore {
    /// Runs a program on a copy of this store until it is killed, and opens what it leaves.
    ///
    /// ```swift
    /// let program = URL(fileURLWithPath: ".build/debug/my-writer")
    /// let left = try await test.killed(at: .commit, running: program)
    /// let isAsBefore = try left.content() == test.content()
    /// ```
    /// - Parameters:
    ///   - moment: When it dies, by `SIGKILL`.
    ///   - program: An executable of yours that calls ``KilledProgram``.
    ///   - arguments: Its arguments.
    ///   - limit: How long it may run; then it is killed all the same, and the check fails.
    /// - Throws: ``CheckFailure`` when the program ends otherwise; what opening the store throws.
    public func killed(
      at moment: SaveMoment, running program: URL, arguments: [String] = [],
      within limit: Duration = .seconds(120)
    ) async throws -> TestStore {
      let run = try await ProgramRun(
        TestedProgram(url: program, arguments: arguments, limit: limit), on: self, killedAt: moment)
      guard run.wasKilled else {
        throw CheckFailure(
          "killed", "\(moment)", ["the program was not killed, but \(run.ending)"],
          advice: run.isDone ? "It writes less than that: there is no such moment." : nil)
      }
      return try await opened(run.folder)
    }

    /// Kills a program at moments of what it writes, and looks at what is left: all of it, or nothing.
    ///
    /// ```swift
    /// let program = URL(fileURLWithPath: ".build/debug/my-writer")
    /// try await test.checkKilledAnywhere(running: program)
    /// ```
    /// Each time on a copy of this store, which is then opened, compared, looked through page by page, and handed to
    /// the program again, unharmed. What ``checkAllOrNothing(moments:_:)`` does with copies of files, this does with a
    /// process that dies; both frameworks of tests can use it.
    /// - Parameters:
    ///   - program: An executable of yours that calls ``KilledProgram``.
    ///   - arguments: Its arguments.
    ///   - moments: At how many writes it is killed at most, spread evenly; some syncs and the commit come on top.
    ///   - limit: How long each run of it may take; then it is killed all the same, and the check fails.
    /// - Throws: ``CheckFailure`` with the moment.
    public func checkKilledAnywhere(
      running program: URL, arguments: [String] = [], moments: Int = 16,
      within limit: Duration = .seconds(120)
    ) async throws {
      let name = "checkKilledAnywhere"
      let program = TestedProgram(url: program, arguments: arguments, limit: limit)
      let before = try content()
      let whole = try await ProgramRun(program, on: self, killedAt: nil)
      guard let counts = whole.counts else {
        throw CheckFailure(name, "without a kill", ["the program has \(whole.ending)"])
      }
      let after = try StoreContent(at: whole.file, key: key)
      guard after != before else { throw CheckFailure(name, "without a kill", ["nothing was changed"]) }
      for moment in counts.moments(most: moments) {
        let run = try await ProgramRun(program, on: self, killedAt: moment)
        guard run.wasKilled || run.isDone else {
          throw CheckFailure(name, "\(moment)", ["the program was not killed, but \(run.ending)"])
        }
        guard try await isAsBefore(run, moment, before, after) else { continue }
        let again = try await ProgramRun(program, in: run.folder, key: keyBytes, killedAt: nil)
        guard again.isDone, try StoreContent(at: run.file, key: key).counts == after.counts else {
          throw CheckFailure(
            name, "killed at \(moment), then run to its end",
            [again.isDone ? "the second run wrote something else" : "the program has \(again.ending)"])
        }
      }
    }

    /// - Throws: ``CheckFailure`` when the store is neither as it was nor whole.
    private func isAsBefore(
      _ run: ProgramRun, _ moment: SaveMoment, _ before: StoreContent, _ after: StoreContent
    ) async throws -> Bool {
      let (name, place) = ("checkKilledAnywhere", "killed at \(moment)")
      let found = try StoreContent(at: run.file, key: key)
      if found == before, moment == .committed, run.wasKilled {
        throw CheckFailure(name, place, ["what was committed is gone"])
      }
      // Times and random values differ from run to run, but not how many objects there are.
      guard found == before || found.counts == after.counts else {
        throw CheckFailure(
          name, place, ["the store holds a part of what was written"] + found.differences(from: before),
          advice: Self.advice)
      }
      let store = try await opened(run.folder)
      try require(try await store.store.verify(), name, place)
      try require(
        run.strangers.map { "\($0) is left in the folder" }, name, place,
        advice: "Files that are written beside the store have to go when the program starts again.")
      return found == before
    }
  }
#endif
