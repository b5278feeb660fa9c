// Changes the key of one connection's file, in any journal mode. The engine's own call can destroy the
// file and report success; this code prevents that.

private import CSQLCipher
private import Dispatch
private import Foundation

extension Connection {
  /// Encrypts the whole file again under `newKey`, and returns only after a new connection has read it.
  ///
  /// The change is one transaction: whatever happens, the file opens with the old key or the new one.
  /// This connection continues under the new key; all others, in this process and in others, must be
  /// opened again. Blocks; costs about as much as writing the file once and reading it twice: every page
  /// is checked before the first is written, because the engine stops at a damaged page without an error.
  /// A pool has its own method: ``ConnectionPool/rekey(to:progress:)``.
  ///
  /// - Parameters:
  ///   - newKey: The new key.
  ///   - progress: Called with the number of pages done and in total. Each page counts twice: when written
  ///     and when verified. It is first called with 0 pages done, and from another thread while pages are
  ///     written. If it throws before the commit, the transaction is rolled back and the old key stays. If
  ///     it throws later, only the verification ends.
  /// - Throws: With the old key still in effect: ``SQLError/busy(file:waitedSeconds:holders:)`` when
  ///   another connection keeps a lock longer than the busy timeout; ``SQLError/sameKey(file:)``,
  ///   ``SQLError/keyEndsInZero``, ``SQLError/emptyKey``, ``SQLError/keyLength(expected:found:)``;
  ///   ``SQLError/readOnly(file:)`` for a connection that is not open for writing;
  ///   ``SQLError/uncommittedChanges(file:)`` inside a transaction; ``SQLError/corrupted(file:pages:)``
  ///   for damage that existed before; ``SQLError/folderNotWritable(folder:)`` when no journal can be
  ///   created; what `progress` throws; ``SQLError/diskFull(file:)``;
  ///   ``SQLError/verificationFailed(file:reason:)`` when the engine reported success but changed
  ///   nothing, and the disk is not full. If nothing was written yet, this connection can still be used.
  ///   Once the engine has begun to write, an error closes the connection, because another write through
  ///   it could leave a file that no key opens. With the new key in effect:
  ///   ``SQLError/rekeyDamaged(file:pages:)`` when the written pages could not be read back;
  ///   ``SQLError/notVerified(file:)`` when `progress` ended the verification.
  public func rekey(to newKey: Key, progress: ((Int, Int) throws -> Void)? = nil) throws {
    try rekey(to: newKey, gate: CommitGate(), progress: progress)
  }

  /// Encrypts the file under a new key, with a gate by which another thread can stop the change.
  /// - Throws: As ``rekey(to:progress:)``; `CancellationError` when another thread stopped the change at
  ///   the gate before the commit.
  package func rekey(to newKey: Key, gate: CommitGate, progress: ((Int, Int) throws -> Void)?) throws {
    try checkOpen()
    guard configuration.access == .readWrite else { throw SQLError.readOnly(file: path) }
    guard !isInTransaction else { throw SQLError.uncommittedChanges(file: path) }
    let new = try UnlockedKey(replacing: unlocked, by: newKey, of: file.given)
    let fresh: Connection
    let extent = try beginRekey(gate, progress: progress)
    do {
      try rekeyInTransaction(to: new, gate: gate, extent: extent, progress: progress)
      fresh = try Connection.openingAfterRekey(file, gate) {
        try Connection.open(file, unlocked: new, configuration: configuration)
      }
    } catch {
      close()
      throw error
    }
    unlocked = new
    defer { fresh.close() }
    try fresh.verifyRekey(progress: progress)
  }

  /// Opens the file after a change of its key. If the new key does not open it, the engine reported
  /// success and did nothing, as it does when the disk is full.
  static func openingAfterRekey(
    _ file: DatabasePath, _ gate: CommitGate, open: () throws -> Connection
  ) throws -> Connection {
    do {
      let connection = try open()
      gate.didCommit()
      return connection
    } catch SQLError.wrongKey {
      gate.didFail()
      // The gate does not see the writes to a rollback journal, which needs as much room as the file.
      let isFull = gate.isDiskFull || FreeSpace.writableBytesPerFile(in: file.folder) < file.byteCount ?? 0
      throw isFull
        ? SQLError.diskFull(file: file.given)
        : .verificationFailed(file: file.given, reason: "the engine reported success but changed nothing")
    }
  }

  /// The number of pages to write, and whether they go to the log: the growth of the log or the journal
  /// shows the progress.
  struct RekeyExtent {
    let pages: Int
    let usesLog: Bool
  }

  /// Begins the transaction that changes the key, after checking that every page can be read and the
  /// engine can write. After an error there is no transaction, and the connection can be used as before.
  func beginRekey(_ gate: CommitGate, progress: ((Int, Int) throws -> Void)?) throws -> RekeyExtent {
    let usesLog = try value("PRAGMA journal_mode")?.string == "wal"
    let pages = Int(try value("PRAGMA page_count")?.int64 ?? 0)
    // An empty log grows with each page. A log that is restarted instead would not grow at first. If
    // readers prevent the truncation, the progress is only coarser.
    if usesLog, progress != nil { _ = try? checkpoint(.truncate) }
    // BEGIN IMMEDIATE turns contention into an error: without it sqlite3_rekey returns 0 and does
    // nothing.
    try execute("BEGIN IMMEDIATE")
    do {
      // A small file may be written before the first report of progress: this call lets `progress` stop
      // the change in any case.
      try progress?(0, pages * 2)
      try requireRewritable(gate) { try progress?(0, pages * 2) }
    } catch {
      _ = try? execute("ROLLBACK")
      throw error
    }
    return RekeyExtent(pages: pages, usesLog: usesLog)
  }

  /// Changes the key, or throws and leaves the file unchanged. After an error no write may follow on this
  /// connection.
  func rekeyInTransaction(
    to new: UnlockedKey, gate: CommitGate, extent: RekeyExtent, progress: ((Int, Int) throws -> Void)?
  ) throws {
    // The commit must not copy the log into the file, because `verifyRekey` does so while it verifies pages.
    let autocheckpointPages = try value("PRAGMA wal_autocheckpoint")?.int64 ?? 1000
    try execute("PRAGMA wal_autocheckpoint = 0")
    defer { unsafe sqlite3_wal_autocheckpoint(handle, Int32(clamping: autocheckpointPages)) }
    // The engine waits for readers when its cache is full and again at the commit.
    waiting.limits = Waiting.Limits(isStopped: { gate.current == .stopped })
    defer { waiting.limits = nil }
    // The handler that was installed before receives the calls too.
    let former = fileCallInterceptor?.body
    try onFileCall(gate.answers(before: former))
    let growth = progress.map {
      GrowthMonitor(
        extent.usesLog ? file.log : file.journal, pageBytes: unlocked.profile.pageBytes + 24,
        pages: extent.pages, report: $0, onError: { gate.stop() })
    }
    // The engine commits within this call.
    let result = Result {
      try unsafe new.withKeySpecification {
        unsafe sqlite3_rekey_v2(handle, "main", $0.baseAddress, Int32($0.count))
      }
    }
    try onFileCall(nil)
    let thrown = growth?.stop()
    // The engine may return 0 even if it was stopped: the gate shows whether it has committed.
    if gate.current == .stopped { throw thrown ?? CancellationError() }
    let code = try result.get()
    guard code == SQLITE_OK else {
      gate.didFail()
      throw thrown ?? error(code, sql: "rekey")
    }
    try onFileCall(former)
    // There are two reasons for a transaction that is still open. The engine does not end one that it did
    // not begin; or its commit failed, and this is the second attempt. The gate is not checked any more: a
    // cancellation before this point has stopped the first attempt.
    if isInTransaction { try execute("COMMIT") }
  }

  /// Copies the log into the file, and verifies every page under this connection's key. Pages are verified
  /// while others are still being copied, because the two tasks take about equally long.
  /// - Throws: ``SQLError/notVerified(file:)`` when `progress` throws;
  ///   ``SQLError/rekeyDamaged(file:pages:)``.
  func verifyRekey(progress: ((Int, Int) throws -> Void)?) throws {
    // A separate handle: two threads must not use the same one.
    let raw = try RawFile.open(file)
    // The file itself may have fewer pages until the log is copied.
    let pages = Int(try value("PRAGMA page_count")?.int64 ?? 0)
    let outcome = Locked<Result<Bool, any Error>?>(nil)
    let end = DispatchSemaphore(value: 0)
    // Safe to hand over: this thread does not use the connection before the end is signalled.
    nonisolated(unsafe) let connection = self
    DedicatedThread.start {
      let result = Result { try unsafe connection.checkpoint() }
      outcome.withLock { $0 = result }
      end.signal()
    }
    var isStopped = false
    let damaged = raw.damagedPages(key: unlocked) {
      switch outcome.withLock({ $0 }) {
      case _ where isStopped: .failed
      case nil: .underway
      case .success(true): .done
      default: .failed
      }
    } progress: { done, _ in
      do { try progress?(pages + min(done, pages), pages * 2) } catch { isStopped = true }
    }
    end.wait()
    guard !isStopped else { throw SQLError.notVerified(file: path) }
    if let damaged {
      guard damaged.isEmpty else { throw SQLError.rekeyDamaged(file: path, pages: damaged) }
      return
    }
    // The log could not be copied, because a reader still uses the old state or the disk is full. Until a
    // later checkpoint the new pages stay in the log, where only the engine can read them.
    let errors = try integrityErrors(isQuick: true)
    guard errors.isEmpty else { throw SQLError.rekeyDamaged(file: path, pages: []) }
  }
}
