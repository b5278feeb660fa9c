// Changing the key of a pool's file: its connections closed or renewed around Connection+Rekey.

private import Dispatch

extension ConnectionPool {
  /// Encrypts the whole file again under `key`, and returns only after a fresh connection has read it.
  ///
  /// Readers of this pool are let finish and kept back meanwhile. The change is one transaction: whatever
  /// happens, the file opens with the old key or the new one. Connections of other processes must be
  /// opened again afterwards. Blocks; costs about as much as writing the file once, and reading it twice.
  ///
  /// - Parameters:
  ///   - newKey: The key from now on.
  ///   - progress: Called with the pages done and in all, where each page counts twice: written, and verified; with 0
  ///     before the first, and from another thread while they are written. What it throws stops the change: before the
  ///     commit the transaction is rolled back and the old key stays; after it the verification alone ends.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` when somebody else keeps the write lock, or a read of
  ///   this pool lasts, longer than the busy timeout; ``SQLError/sameKey(file:)``, ``SQLError/keyEndsInZero``, ``SQLError/emptyKey``,
  ///   ``SQLError/keyLength(expected:found:)``, ``SQLError/nestedWrite(file:)``; what `progress` throws. The old key is
  ///   then still the one that opens the file; so it is after ``SQLError/corrupted(file:pages:)`` for damage that was
  ///   there before, ``SQLError/folderNotWritable(folder:)``, ``SQLError/diskFull(file:)``, and
  ///   ``SQLError/verificationFailed(file:reason:)``, when the engine reported success and changed nothing.
  ///   ``SQLError/rekeyDamaged(file:pages:)`` when what was written could not be read back, and
  ///   ``SQLError/notVerified(file:)`` when `progress` ended the verification: then the new key is the one.
  public func rekey(to newKey: Key, progress: ((Int, Int) throws -> Void)? = nil) throws {
    guard !isInsideWrite else { throw SQLError.nestedWrite(file: path) }
    try writerQueue.sync {
      let writer = try openWriter()
      let old = writer.unlocked
      let new = try UnlockedKey(replacing: old, by: newKey, of: file.given)
      let timeout = configuration.connection.busyTimeout
      guard readers.bar(seconds: timeout) else {
        throw readersInTheWay(timeout)
      }
      defer { readers.unbar() }
      let gate = CommitGate()
      let extent = try writer.beginRekey(gate, progress: progress)
      do { try writer.rekeyInTransaction(new, gate, extent, progress: progress) } catch {
        // The engine may hold the new key for writing although nothing was written: one more write would
        // leave a file that opens with neither key. So this connection never writes again.
        self.writer.connection?.close()
        self.writer.connection = nil
        _ = try? openWriter()
        throw error
      }
      // Opened before the writer is closed, which as the last one would copy the log itself, with nobody checking
      // pages beside it.
      let opening = Result { try Connection.openingAfterRekey(file, gate) { try reopened(new) } }
      self.writer.connection?.close()
      self.writer.connection = nil
      switch opening {
      case .success(let fresh):
        key.unlocked = new
        self.writer.connection = fresh
        try fresh.verifyRekey(progress: progress)
      case .failure(let error):
        key.unlocked = keyInEffect(old, new)
        _ = try? openWriter()
        throw error
      }
    }
  }

  /// Encrypts the file again under a key and other settings: pages of another size, other hashes, other rounds.
  ///
  /// The engine cannot do that in place, so a new file is built, compared row by row, synced and renamed over the
  /// old one: killed at any moment, the file is the old one or the new one. Takes the room of the file once more, and
  /// nobody can open the file meanwhile.
  /// - Parameters:
  ///   - newKey: The key from now on. It may be the present one where the settings are others.
  ///   - profile: The settings from now on.
  ///   - progress: As for ``rekey(to:progress:)``.
  /// - Throws: ``SQLError/busy(file:waitedSeconds:holders:)`` while connections of other processes, or a read of this pool,
  ///   are open; ``SQLError/cipherSettingsMismatch(file:profile:)`` for settings that this engine has not.
  public func rekey(
    to newKey: Key, profile: CipherProfile, progress: ((Int, Int) throws -> Void)? = nil
  ) throws {
    guard !isInsideWrite else { throw SQLError.nestedWrite(file: path) }
    try writerQueue.sync {
      let writer = try openWriter()
      let timeout = configuration.connection.busyTimeout
      guard readers.bar(seconds: timeout) else { throw readersInTheWay(timeout) }
      defer { readers.unbar() }
      let old = writer.unlocked
      if profile == old.profile, newKey.salt == nil {
        _ = try UnlockedKey(replacing: old, by: newKey, of: file.given)
      }
      // Its lock would be in the way.
      writer.close()
      self.writer.connection = nil
      do {
        key.unlocked = try Connection.rebuild(
          file, old, key: newKey, profile: profile, configuration: configuration.connection,
          prepare: configuration.prepare, progress)
      } catch {
        // When the disk failed after the new file had got its name, the old key does not fit any more.
        if let new = try? UnlockedKey.unlock(path: file, key: newKey, profile: profile, seconds: 0) {
          key.unlocked = new
        }
        _ = try? openWriter()
        throw error
      }
      _ = try openWriter()
    }
  }

  private func readersInTheWay(_ seconds: Double) -> SQLError {
    .busy(file: path, waitedSeconds: seconds, holders: [.thisProcess])
  }

  /// Which key the file is under, when it did not open with the new one after a change.
  private func keyInEffect(_ old: UnlockedKey, _ new: UnlockedKey) -> UnlockedKey {
    for key in [new, old] where (try? Connection.open(file, unlocked: key)) != nil { return key }
    return WriteAheadLog(beside: file)?.fits(new) ?? false ? new : old
  }

  func reopened(_ unlocked: UnlockedKey) throws -> Connection {
    let connection = try Connection.open(file, unlocked: unlocked, configuration: configuration.connection)
    try configuration.prepare(connection)
    // A replaced file, and one whose replacement failed, may have left WAL.
    if let mode = configuration.journalMode { try connection.setJournalMode(mode) }
    if configuration.isFullSync { try connection.setFullSync(true) }
    return connection
  }
}
