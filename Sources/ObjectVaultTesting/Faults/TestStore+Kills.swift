// Runs a program that is killed while it writes, and checks what it leaves.

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
    ///   - moment: When the program is killed, by `SIGKILL`.
    ///   - program: An executable of yours that calls ``KilledProgram``.
    ///   - arguments: Its arguments.
    ///   - limit: How long it may run. A program that exceeds the limit is killed, and the check fails.
    /// - Returns: The store that the program has left.
    /// - Throws: ``CheckFailure`` when the program ends in another way; the errors of opening the store.
    public func killed(
      at moment: SaveMoment, running program: URL, arguments: [String] = [],
      within limit: Duration = .seconds(120)
    ) async throws -> TestStore {
      let run = try await ProgramRun(
        TestedProgram(url: program, arguments: arguments, limit: limit), on: self, killedAt: moment)
      guard run.wasKilled else {
        throw CheckFailure(
          "killed", at: "\(moment)", findings: ["the program was not killed, but \(run.ending)"],
          advice: run.isDone ? "The program writes less, so this moment never comes." : nil)
      }
      return try await opened(run.folder)
    }

    /// Kills a program at moments of its writes, and checks that either all of its changes are stored or
    /// none.
    ///
    /// ```swift
    /// let program = URL(fileURLWithPath: ".build/debug/my-writer")
    /// try await test.checkKilledAnywhere(running: program)
    /// ```
    /// Each run is on a copy of this store, which is then opened, compared, and verified page by page. If
    /// the copy is as before, the program runs on it again, to its end. Unlike
    /// ``checkAllOrNothing(moments:_:)``, which checks copies of files, this check uses a process that
    /// dies. It works with both test frameworks.
    /// - Parameters:
    ///   - program: An executable of yours that calls ``KilledProgram``.
    ///   - arguments: Its arguments.
    ///   - moments: The largest number of writes at which the program is killed, spread evenly. Some
    ///     syncs, the commit and the moment after it are added.
    ///   - limit: How long each run may take. A program that exceeds the limit is killed, and the check
    ///     fails.
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
        throw CheckFailure(name, at: "without a kill", findings: ["the program \(whole.ending)"])
      }
      let after = try StoreContent(at: whole.file, key: key)
      guard after != before else {
        throw CheckFailure(name, at: "without a kill", findings: ["nothing was changed"])
      }
      for moment in counts.moments(most: moments) {
        let run = try await ProgramRun(program, on: self, killedAt: moment)
        guard run.wasKilled || run.isDone else {
          throw CheckFailure(
            name, at: "\(moment)", findings: ["the program was not killed, but \(run.ending)"])
        }
        guard try await isAsBefore(run, killedAt: moment, before: before, after: after) else { continue }
        let again = try await ProgramRun(program, in: run.folder, key: keyBytes, killedAt: nil)
        guard again.isDone, try StoreContent(at: run.file, key: key).counts == after.counts else {
          throw CheckFailure(
            name, at: "killed at \(moment), then run to its end",
            findings: [
              again.isDone ? "the second run wrote something else" : "the program \(again.ending)"
            ])
        }
      }
    }

    /// Returns whether the store is as it was before the run.
    /// - Throws: ``CheckFailure`` when the store is neither as it was nor complete.
    private func isAsBefore(
      _ run: ProgramRun, killedAt moment: SaveMoment, before: StoreContent, after: StoreContent
    ) async throws -> Bool {
      let (name, place) = ("checkKilledAnywhere", "killed at \(moment)")
      let found = try StoreContent(at: run.file, key: key)
      if found == before, moment == .committed, run.wasKilled {
        throw CheckFailure(name, at: place, findings: ["the committed changes are missing"])
      }
      // Times and random values differ from run to run, but the number of objects does not.
      guard found == before || found.counts == after.counts else {
        throw CheckFailure(
          name, at: place,
          findings: ["the store contains only a part of the changes"] + found.differences(from: before),
          advice: Self.advice)
      }
      let store = try await opened(run.folder)
      try require(try await store.store.verify(), by: name, at: place)
      try require(
        run.strangers.map { "\($0) is left in the folder" }, by: name, at: place,
        advice: "Files that are written beside the store must be removed when the program starts again.")
      return found == before
    }
  }
#endif
