// Changes the key of a pool's file: closes and reopens the pool's connections around `Connection+Rekey`.

private import Dispatch

extension ConnectionPool {
  /// Encrypts the whole file again under `newKey`, and returns only after a new connection has read it.
  ///
  /// Waits for the running reads of this pool, and blocks new ones meanwhile. The change is one
  /// transaction: whatever happens, the file opens with the old key or the new one. Connections of other
  /// processes must be opened again afterwards. Blocks; costs about as much as writing the file once and
  /// reading it twice.
  ///
  /// - Parameters:
  ///   - newKey: The new key.
  ///   - progress: Receives the number of pages that are done, and the total. Each page counts twice:
  ///     written, and verified. It is called with 0 before the first page, and from another thread while
  ///     pages are written. What it throws stops the change: before the commit the transaction is rolled
  ///     back and the old key stays; after the commit only the verification ends.
  /// - Throws: With the old key still in effect: ``SQLError/busy(file:waitedSeconds:holders:)`` when
  ///   another process keeps the write lock, or a read of this pool lasts, longer than the busy timeout;
  ///   ``SQLError/sameKey(file:)``, ``SQLError/keyEndsInZero``, ``SQLError/emptyKey``,
  ///   ``SQLError/keyLength(expected:found:)``, ``SQLError/nestedWrite(file:)``; what `progress` throws;
  ///   ``SQLError/corrupted(file:pages:)`` for damage that was there before,
  ///   ``SQLError/folderNotWritable(folder:)``, ``SQLError/diskFull(file:)``;
  ///   ``SQLError/verificationFailed(file:reason:)`` when the engine reported success and changed
  ///   nothing. With the new key in effect: ``SQLError/rekeyDamaged(file:pages:)`` when the written pages
  ///   could not be read back, and ``SQLError/notVerified(file:)`` when `progress` ended the
  ///   verification.
  public func rekey(to newKey: Key, progress: ((Int, Int) throws -> Void)? = nil) throws {
    guard !isInsideWrite else { throw SQLError.nestedWrite(file: path) }
    try writerQueue.sync {
      let writer = try openWriter()
      let old = writer.unlocked
      let new = try UnlockedKey(replacing: old, by: newKey, of: file.given)
      let timeout = configuration.connection.busyTimeout
      guard readers.bar(seconds: timeout) else {
        throw busyReadersError(timeout)
      }
      defer { readers.unbar() }
      let gate = CommitGate()
      let extent = try writer.beginRekey(gate, progress: progress)
      do { try writer.rekeyInTransaction(to: new, gate: gate, extent: extent, progress: progress) } catch {
        // The engine may keep the new key for writing although nothing was written: one more write would
        // leave a file that neither key opens. So this connection is closed, and never writes again.
        self.writer.connection?.close()
        self.writer.connection = nil
        _ = try? openWriter()
        throw error
      }
      // The new connection is opened before the writer is closed. As the last connection, the writer would
      // copy the log into the file when it is closed. `verifyRekey` copies the log instead, and verifies
      // pages while it does so.
      let opening = Result { try Connection.openingAfterRekey(file, gate) { try reopened(new) } }
      self.writer.connection?.close()
      self.writer.connection = nil
      switch opening {
      case .success(let fresh):
        key.unlocked = new
        self.writer.connection = fresh
        try fresh.verifyRekey(progress: progress)
      case .failure(let error):
        key.unlocked = keyInEffect(old: old, new: new)
        _ = try? openWriter()
        throw error
      }
    }
  }

  /// Encrypts the file again under a key and other settings: another page size, other hashes, other
  /// rounds.
  ///
  /// The engine cannot do that in place, so a new file is built, compared row by row, synced and renamed
  /// over the old one: if the process is killed at any moment, the file is the old one or the new one.
  /// Needs free disk space of the file's size. The file cannot be opened meanwhile.
  /// - Parameters:
  ///   - newKey: The new key. It may be the present one if the settings differ.
  ///   - profile: The new settings.
  ///   - progress: As for ``rekey(to:progress:)``.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` while connections of other processes, or a
  ///   read of this pool, are open; ``SQLError/cipherSettingsMismatch(file:profile:)`` for settings that
  ///   this engine does not support; ``SQLError/sameKey(file:)`` when neither the key nor the settings
  ///   differ; ``SQLError/nestedWrite(file:)``; ``SQLError/ownerWouldChange(file:)``,
  ///   ``SQLError/severalNames(file:count:)``; what `progress` throws.
  public func rekey(
    to newKey: Key, profile: CipherProfile, progress: ((Int, Int) throws -> Void)? = nil
  ) throws {
    guard !isInsideWrite else { throw SQLError.nestedWrite(file: path) }
    try writerQueue.sync {
      let writer = try openWriter()
      let timeout = configuration.connection.busyTimeout
      guard readers.bar(seconds: timeout) else { throw busyReadersError(timeout) }
      defer { readers.unbar() }
      let old = writer.unlocked
      if profile == old.profile, newKey.salt == nil {
        _ = try UnlockedKey(replacing: old, by: newKey, of: file.given)
      }
      // The writer's lock would prevent the replacement.
      writer.close()
      self.writer.connection = nil
      do {
        key.unlocked = try Connection.rebuild(
          file, unlocked: old, key: newKey, profile: profile, configuration: configuration.connection,
          prepare: configuration.prepare, progress: progress)
      } catch {
        // If the disk failed after the new file had got its name, the old key does not fit any more.
        if let new = try? UnlockedKey.unlock(path: file, key: newKey, profile: profile, seconds: 0) {
          key.unlocked = new
        }
        _ = try? openWriter()
        throw error
      }
      _ = try openWriter()
    }
  }

  private func busyReadersError(_ seconds: Double) -> SQLError {
    .busy(file: path, waitedSeconds: seconds, holders: [.thisProcess])
  }

  /// Returns the key that the file is under, after it did not open with the new key.
  private func keyInEffect(old: UnlockedKey, new: UnlockedKey) -> UnlockedKey {
    for key in [new, old] where (try? Connection.open(file, unlocked: key)) != nil { return key }
    return WriteAheadLog(beside: file)?.fits(new) ?? false ? new : old
  }

  func reopened(_ unlocked: UnlockedKey) throws -> Connection {
    let connection = try Connection.open(file, unlocked: unlocked, configuration: configuration.connection)
    try configuration.prepare(connection)
    // The file may have left WAL mode: another file may have replaced it, or a replacement may have failed
    // after it had switched the mode.
    if let mode = configuration.journalMode { try connection.setJournalMode(mode) }
    if configuration.isFullSync { try connection.setFullSync(true) }
    try connection.findLog()
    // Commits before this one are no news.
    _ = connection.othersHaveCommitted()
    return connection
  }
}
