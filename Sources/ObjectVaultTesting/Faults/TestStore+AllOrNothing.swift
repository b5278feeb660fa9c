// Checks that an app's writes are stored either completely or not at all, whatever stops them.

internal import CipherSQLite
internal import Foundation
public import ObjectVault

extension TestStore {
  /// Stops an operation at its statements and writes, and checks that either all of its changes are stored
  /// or none.
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
  /// Each run is on a copy of this store. One run has no fault. In another run, the files are copied after
  /// statements: a process that is killed there would leave them so. Each of the other runs has a
  /// ``SaveFault``, of all kinds but the one that ends this process. A run that fails has to leave the
  /// store as it was, intact, and able to repeat the operation. The check finds changes that belong
  /// together but are in two transactions, and errors that are not passed on.
  /// - Parameters:
  ///   - moments: The largest number of statements, and of writes to files, at which the operation is
  ///     stopped. They are spread evenly.
  ///   - body: The operation that writes. It runs dozens of times, so it should change only the store.
  /// - Throws: ``CheckFailure``; the error of `body` when nothing stops it.
  public func checkAllOrNothing(
    moments: Int = 16, _ body: @Sendable (Store) async throws -> Void
  ) async throws {
    let before = try content()
    let (after, statements, counts) = try await rehearse(body)
    guard after != before else {
      throw CheckFailure("checkAllOrNothing", at: "without a fault", findings: ["nothing was changed"])
    }
    try await checkCrashes(body, before, every: max(1, statements / max(1, moments)))
    let interruptions = CrashWatch.moments(of: statements, most: moments).map {
      SaveFault.interrupted(atStatement: $0)
    }
    let errors = counts.moments(most: moments).map { SaveFault.ioError(at: $0) }
    let room: [SaveFault] = [.diskFull(afterPages: 0), .diskFull(afterPages: 2)]
    let writes = CrashWatch.moments(of: counts.writes, most: 4).map { SaveFault.noSpace(from: .write($0)) }
    for fault in interruptions + [.commitRefused] + errors + room + writes {
      try await check(body, with: fault, before: before, after: after)
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
        "checkAllOrNothing", at: "killed after statement \(crash.statement)",
        findings: ["the store contains only a part of the changes"] + found.differences(from: before),
        advice: Self.advice)
    }
  }

  private func check(
    _ body: @Sendable (Store) async throws -> Void, with fault: SaveFault, before: StoreContent,
    after: StoreContent
  ) async throws {
    let copy = try await copy()
    try copy.arm(fault)
    var failure: (any Error)?
    do { try await body(copy.store) } catch { failure = error }
    try copy.disarm()
    let found = try copy.content()
    if failure == nil {
      // Times and random values differ from run to run, but the number of objects does not.
      let isWhole = found != before && found.counts == after.counts
      guard !isWhole else { return }
      throw CheckFailure(
        "checkAllOrNothing", at: "\(fault)",
        findings: [found == before ? "no error was thrown, and nothing was written" : "no error was thrown"]
          + found.differences(from: before),
        advice: "Pass the error on, so that the caller learns that nothing was saved.")
    }
    try require(
      found.differences(from: before), by: "checkAllOrNothing", at: "\(fault)", advice: Self.advice)
    try require(try await copy.store.verify(), by: "checkAllOrNothing", at: "\(fault)")
    try await body(copy.store)
    guard try copy.content().counts == after.counts else {
      throw CheckFailure(
        "checkAllOrNothing", at: "\(fault), then without a fault",
        findings: ["the second attempt wrote something else"])
    }
  }

  static let advice = "Put changes that belong together into one store.write, or into one save of a context."
}

extension StoreContent {
  /// The number of objects of each entity.
  var counts: [String: Int] { objects.mapValues(\.count) }
}
