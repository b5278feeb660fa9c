// Changing the key of one connection's file, in any journal mode. The engine's own call can destroy the file and
// report success; this is the way around.

private import CSQLCipher
private import Dispatch
private import Foundation

extension Connection {
  /// Encrypts the whole file again under `newKey`, and returns only after a fresh connection has read it.
  ///
  /// The change is one transaction: whatever happens, the file opens with the old key or the new one. This
  /// connection goes on under the new key; all others, of this process and of others, must be opened again.
  /// Blocks; costs about as much as writing the file once, and reading it twice: every page is checked before the first is
  /// written, because the engine gives up at a damaged one and says nothing. A pool has its own:
  /// ``ConnectionPool/rekey(to:progress:)``.
  ///
  /// - Parameters:
  ///   - newKey: The key from now on.
  ///   - progress: Called with the pages done and in all, where each page counts twice: written, and verified; with 0
  ///     before the first, and from another thread while they are written. What it throws stops the change: before the
  ///     commit the transaction is rolled back and the old key stays; after it the verification alone ends.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` when somebody else keeps a lock longer than the busy timeout;
  ///   ``SQLError/sameKey(file:)``, ``SQLError/keyEndsInZero``, ``SQLError/emptyKey``,
  ///   ``SQLError/keyLength(expected:found:)``; ``SQLError/uncommittedChanges(file:)`` inside
  ///   a transaction; ``SQLError/corrupted(file:pages:)`` for damage that was there before,
  ///   ``SQLError/folderNotWritable(folder:)`` where no journal can be made; what `progress` throws. The old key is then
  ///   still the one that opens the file, and where nothing was written yet this connection goes on.
  ///   ``SQLError/diskFull(file:)``, or ``SQLError/verificationFailed(file:reason:)`` when the engine reported success and
  ///   changed nothing for another reason. The old key stays then, too. Once the engine has begun to write, an error
  ///   closes this connection, because one more write of it could leave a file that no key opens.
  ///   ``SQLError/rekeyDamaged(file:pages:)`` when what was written could not be read back, and
  ///   ``SQLError/notVerified(file:)`` when `progress` ended the verification: then the new key is the one.
  public func rekey(to newKey: Key, progress: ((Int, Int) throws -> Void)? = nil) throws {
    try rekey(to: newKey, gate: CommitGate(), progress: progress)
  }

  /// The same with a gate by which another thread can stop it.
  /// - Throws: As above; `CancellationError` when the gate was closed before the commit.
  package func rekey(to newKey: Key, gate: CommitGate, progress: ((Int, Int) throws -> Void)?) throws {
    try checkOpen()
    guard configuration.access == .readWrite else { throw SQLError.readOnly(file: path) }
    guard !isInTransaction else { throw SQLError.uncommittedChanges(file: path) }
    let new = try UnlockedKey(replacing: unlocked, by: newKey, of: file.given)
    let fresh: Connection
    let extent = try beginRekey(gate, progress: progress)
    do {
      try rekeyInTransaction(new, gate, extent, progress: progress)
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

  /// Opens the file after a change of its key. Where the new key does not open it, the engine reported success and did
  /// nothing, as it does when there is no room.
  static func openingAfterRekey(
    _ file: DatabasePath, _ gate: CommitGate, open: () throws -> Connection
  ) throws -> Connection {
    do {
      let connection = try open()
      gate.didCommit()
      return connection
    } catch SQLError.wrongKey {
      gate.didFail()
      // A journal's writes go past the gate; it takes as much room as the file.
      let isFull = gate.isDiskFull || DiskRoom.bytesOfFile(in: file.folder) < file.byteCount ?? 0
      throw isFull
        ? SQLError.diskFull(file: file.given)
        : .verificationFailed(file: file.given, reason: "the engine reported success and changed nothing")
    }
  }

  /// What is to be written, and where it can be seen to grow.
  struct RekeyExtent {
    let pages: Int
    let usesLog: Bool
  }

  /// Begins the transaction that changes the key, where every page can be read and the engine can write. After an error
  /// there is none, and this connection goes on as before.
  func beginRekey(_ gate: CommitGate, progress: ((Int, Int) throws -> Void)?) throws -> RekeyExtent {
    let usesLog = try value("PRAGMA journal_mode")?.string == "wal"
    let pages = Int(try value("PRAGMA page_count")?.int64 ?? 0)
    // An empty log grows with each page; one that is begun anew would hide the first ones. Readers in the way
    // only make the progress coarser.
    if usesLog, progress != nil { _ = try? checkpoint(.truncate) }
    // BEGIN IMMEDIATE turns contention into an error: without it sqlite3_rekey answers 0 and does nothing.
    try execute("BEGIN IMMEDIATE")
    do {
      // A file may be written before anybody has looked how far it is: who wants to stop it is asked here in any case.
      try progress?(0, pages * 2)
      try requireRewritable(gate) { try progress?(0, pages * 2) }
    } catch {
      _ = try? execute("ROLLBACK")
      throw error
    }
    return RekeyExtent(pages: pages, usesLog: usesLog)
  }

  /// Changes the key, or throws with the file as it was. After an error nothing may be written here.
  func rekeyInTransaction(
    _ new: UnlockedKey, _ gate: CommitGate, _ extent: RekeyExtent, progress: ((Int, Int) throws -> Void)?
  ) throws {
    // The commit shall not copy the log: that is done while pages are verified.
    let copiesAfter = try value("PRAGMA wal_autocheckpoint")?.int64 ?? 1000
    try execute("PRAGMA wal_autocheckpoint = 0")
    defer { unsafe sqlite3_wal_autocheckpoint(handle, Int32(clamping: copiesAfter)) }
    // Who else lets files fail goes on doing so.
    let former = fileWatch?.body
    try onFileCall(gate.answers(before: former))
    let growth = progress.map {
      GrowthWatch(
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
    // Stopped or not, the engine may answer 0: whether it has committed, the watch has seen.
    if gate.current == .stopped { throw thrown ?? CancellationError() }
    let code = try result.get()
    guard code == SQLITE_OK else {
      gate.didFail()
      throw thrown ?? error(code, sql: "rekey")
    }
    try onFileCall(former)
    // The engine does not end the transaction that it was given; or it could not, and this is the second try. The gate is
    // not asked any more: a cancellation that came until now has stopped the first one.
    if isInTransaction { try execute("COMMIT") }
  }

  /// Copies the log into the file, and reads every page under the key that this connection was opened with. Pages
  /// are checked while others are still being copied: each takes about as long.
  /// - Throws: ``SQLError/notVerified(file:)`` when `progress` throws; ``SQLError/rekeyDamaged(file:pages:)``.
  func verifyRekey(progress: ((Int, Int) throws -> Void)?) throws {
    // A handle of its own: two threads shall not read and write through one.
    let raw = try RawFile.open(file)
    // The file may have fewer until the log is copied.
    let pages = Int(try value("PRAGMA page_count")?.int64 ?? 0)
    let outcome = Locked<Result<Bool, any Error>?>(nil)
    let end = DispatchSemaphore(value: 0)
    // Safe to hand over: this thread does not touch the connection before the end is signalled.
    nonisolated(unsafe) let connection = self
    OwnThread.start {
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
    // Somebody still reads the old state, or the disk is full: the new pages stay in the log, where only the engine
    // reads them, until the next one copies it.
    let errors = try integrityErrors(isQuick: true)
    guard errors.isEmpty else { throw SQLError.rekeyDamaged(file: path, pages: []) }
  }
}
