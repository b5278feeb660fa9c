// Whether what an app writes is there whole or not at all, whatever stops it.

internal import CipherSQLite
internal import Foundation
public import ObjectVault

extension TestStore {
  /// Runs something that writes, stops it at each of its statements, and looks at what is left: all of it, or nothing.
  ///
  /// ```swift
  /// try await test.checkAllOrNothing { store in
  ///   try await store.write { context in
  ///     let user = context.insert(User.self) { $0.name = "Binger" }
  ///     context.insert(Status.self) { $0.text = "Hi"; $0.user = user }
  ///   }
  /// }
  /// ```
  ///
  /// Each time on a copy of this store: once whole; once with the files copied behind its statements, as a process
  /// would leave them that is killed there; then with each ``SaveFault`` but the one that ends this process. What fails has to leave the store as it was,
  /// sound, and able to do the same again. It finds what is written in two transactions and belongs together, and errors
  /// that nobody passes on.
  /// - Parameters:
  ///   - moments: At how many statements, and at how many writes of files, it is stopped at most, spread evenly.
  ///   - body: What writes; run some dozens of times, so that it should change nothing but the store.
  /// - Throws: ``CheckFailure``; what `body` throws when nothing stops it.
  public func checkAllOrNothing(
    moments: Int = 16, _ body: @Sendable (Store) async throws -> Void
  ) async throws {
    let before = try content()
    let (after, statements, counts) = try await rehearse(body)
    guard after != before else {
      throw CheckFailure("checkAllOrNothing", "without a fault", ["nothing was changed"])
    }
    try await checkCrashes(body, before, every: max(1, statements / max(1, moments)))
    let interruptions = CrashWatch.moments(of: statements, most: moments).map {
      SaveFault.interrupted(atStatement: $0)
    }
    let errors = counts.moments(most: moments).map { SaveFault.ioError(at: $0) }
    let room: [SaveFault] = [.diskFull(afterPages: 0), .diskFull(afterPages: 2)]
    let writes = CrashWatch.moments(of: counts.writes, most: 4).map { SaveFault.noSpace(from: .write($0)) }
    for fault in interruptions + [.commitRefused] + errors + room + writes {
      try await check(body, fault, before, after)
    }
  }

  private func rehearse(
    _ body: @Sendable (Store) async throws -> Void
  ) async throws -> (StoreContent, statements: Int, SaveCounts) {
    let copy = try await copy()
    let watch = try CrashWatch(copy.store.url, every: 0)
    let counts = Locked(SaveCounts())
    try copy.store.withWritingConnection {
      try watch.watch($0)
      try $0.count(in: counts)
    }
    try await body(copy.store)
    try copy.store.withWritingConnection {
      watch.leave($0)
      try $0.onFileCall(nil)
    }
    return (try copy.content(), watch.statements, counts.withLock { $0 })
  }

  private func checkCrashes(
    _ body: @Sendable (Store) async throws -> Void, _ before: StoreContent, every stride: Int
  ) async throws {
    let copy = try await copy()
    let watch = try CrashWatch(copy.store.url, every: stride)
    try copy.store.withWritingConnection { try watch.watch($0) }
    try await body(copy.store)
    try copy.store.withWritingConnection { watch.leave($0) }
    let after = try copy.content()
    for crash in try watch.copies() {
      let found = try StoreContent(at: crash.url, key: key)
      guard found != before, found != after else { continue }
      throw CheckFailure(
        "checkAllOrNothing", "killed behind statement \(crash.statement)",
        ["the store holds a part of what was written"] + found.differences(from: before), advice: Self.advice)
    }
  }

  private func check(
    _ body: @Sendable (Store) async throws -> Void, _ fault: SaveFault, _ before: StoreContent,
    _ after: StoreContent
  ) async throws {
    let copy = try await copy()
    try copy.arm(fault)
    var failure: (any Error)?
    do { try await body(copy.store) } catch { failure = error }
    try copy.disarm()
    let found = try copy.content()
    if failure == nil {
      // Times and random values differ from run to run, but not how many objects there are.
      let isWhole = found != before && found.counts == after.counts
      guard !isWhole else { return }
      throw CheckFailure(
        "checkAllOrNothing", "\(fault)",
        [found == before ? "no error was thrown, and nothing was written" : "no error was thrown"]
          + found.differences(from: before),
        advice: "Pass the error on, so that somebody hears that nothing was saved.")
    }
    try require(
      found.differences(from: before), "checkAllOrNothing", "\(fault)", advice: Self.advice)
    try require(try await copy.store.verify(), "checkAllOrNothing", "\(fault)")
    try await body(copy.store)
    guard try copy.content().counts == after.counts else {
      throw CheckFailure(
        "checkAllOrNothing", "\(fault), then without a fault", ["the second try wrote something else"])
    }
  }

  static let advice = "What belongs together goes into one store.write, or one save of a context."
}

extension StoreContent {
  /// How many objects each entity has.
  var counts: [String: Int] { objects.mapValues(\.count) }
}
