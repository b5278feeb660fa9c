// Reports the state of the files after a command was stopped.

import CipherSQLite
import Foundation
import ObjectVault

/// Reports the state of the files that a command changes.
protocol FileStateReport: Sendable {
  /// Returns the report for a command that ended in order. It examines the files.
  func found() -> String
  /// Returns the report for a process that ends in the middle of the command. Temporary files are already
  /// removed, and no uncommitted change of a key will be committed.
  /// - Parameter phase: The progress of a change of the key.
  func stateAfterExit(_ phase: CommitGate.Phase) -> String
  /// Whether a failed command may have done part of its work.
  var hasParts: Bool { get }
}

extension FileStateReport {
  var hasParts: Bool { false }
}

/// After `rekey`: the store is under one of the two keys.
struct KeyChange: FileStateReport {
  let store: String
  let old: Key
  let new: Key
  let configuration: Connection.Configuration

  func found() -> String {
    switch (opens(new), opens(old)) {
    // Both keys open the store, because they come from the same key file.
    case (true, true): "\(store) opens with the slots of its key file."
    // The success of the command was not reported, because not all pages were read with the new key.
    case (true, false): renewed
    case (false, true): asBefore
    case (false, false): unknown
    }
  }

  func stateAfterExit(_ phase: CommitGate.Phase) -> String {
    switch phase {
    case .working, .stopped: asBefore
    case .committing:
      "The commit was in progress: \(store) opens with either the NEW key or the OLD key. "
        + unknown
    case .committed: renewed
    }
  }

  private var asBefore: String { "\(store) opens with the OLD key, as before." }
  private var renewed: String {
    "\(store) opens only with the NEW key; the check of all pages with it was not completed."
  }
  private var unknown: String {
    "Keep both keys, and check which one opens it: \(ToolLine("verify", argumentPath(store)))"
  }

  private func opens(_ key: Key) -> Bool {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration) else {
      return false
    }
    connection.close()
    return true
  }
}

/// After `rekey --new-cipher`, `upgrade-cipher` or `restore`: another file has replaced the store, or it
/// has not.
struct Replacement: FileStateReport {
  let path: String
  /// What to report if the former file is still at the path, and if the new one is.
  let texts: (former: String, new: String)
  private let former: Identity?

  private struct Identity: Equatable, Sendable {
    let device: UInt64
    let node: UInt64

    init?(_ path: String) {
      var status = stat()
      guard unsafe stat(path, &status) == 0 else { return nil }
      (device, node) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino))
    }
  }

  /// Records which file is at a path now.
  init(of path: String, former: String, new: String) {
    self.path = path
    texts = (former, new)
    self.former = Identity(path)
  }

  func found() -> String { Identity(path) == former ? texts.former : texts.new }
  // The new file is renamed in a single operation. If that has not happened, the new file is already
  // removed and can no longer replace the store.
  func stateAfterExit(_ phase: CommitGate.Phase) -> String { found() }
}

/// After `encrypt`, `export` or `backup`: the new file has its name, or it does not exist.
struct NewCopy: FileStateReport {
  let target: String
  /// What to report about the file that was copied.
  let source: String

  func found() -> String {
    (FileManager.default.fileExists(atPath: target)
      ? "\(target) is complete, and its content equals the original's."
      : "\(target) was not created; no part of it remains.") + " " + source
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String { found() }
}

/// After all actions of `slots` but `rotate`: the key file is the former one or the new one.
struct SlotChange: FileStateReport {
  let file: String

  func found() -> String {
    do {
      return
        "\(file) is intact; its slots are \(try KeyFile.slots(at: file).map(\.name).joined(separator: ", "))."
    } catch SQLError.notFound { return "There is no key file \(file)." } catch {
      return "Check it: \(ToolLine("slots", "list", argumentPath(file)))"
    }
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String { found() }
}

/// After `plan --rehearse`, which changes only a copy. It may fail before the copy exists.
struct Rehearsing: FileStateReport {
  func found() -> String { "Nothing was changed, and no copy remains." }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String { found() }
}

/// After `create`, or `baseline` into a new store: the store has its name, or it does not exist.
struct NewStore: FileStateReport {
  let path: String

  func found() -> String {
    FileManager.default.fileExists(atPath: path)
      ? "\(path) was created, and opens with its key." : "\(path) was not created; no part of it remains."
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String { found() }
}

/// After `up --vacuum` without pending steps: the file was rewritten, or it was not.
struct Vacuuming: FileStateReport {
  let store: String
  let key: Key
  let configuration: Connection.Configuration
  /// The command line that shows the number of free pages.
  let info: String

  func found() -> String {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration) else {
      return stateAfterExit(.stopped)
    }
    defer { connection.close() }
    guard let free = try? connection.value("PRAGMA freelist_count")?.int64 else {
      return stateAfterExit(.stopped)
    }
    return free > 0
      ? "\(store) opens with its key, as before, and keeps its free pages."
      : "\(store) opens with its key, and has no free pages."
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String {
    "\(store) opens with its key and has the same content. To check whether it still has free pages: \(info)"
  }
}

/// After `redo`: either all steps ran again, or none did.
struct RepeatedSteps: FileStateReport {
  let store: String
  let key: Key
  let version: Int
  /// How often the tables had been changed before.
  let generation: Int64
  let configuration: Connection.Configuration
  /// The command line that shows which steps ran on the store.
  let history: String

  func found() -> String {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration),
      let info = try? StoreInfo(connection)
    else { return stateAfterExit(.stopped) }
    connection.close()
    return info.generation == generation
      ? "\(store) is unchanged, at version \(version), and opens with its key."
      : "The steps were run again; \(store) is at version \(version), and opens with its key."
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String {
    "\(store) opens with its key and is at version \(version), as before. To check whether its last steps "
      + "ran again: \(history)"
  }
}

/// After `repair`: either all named steps have new records, or none does.
struct NewRecord: FileStateReport {
  let store: String
  let key: Key
  /// How often steps had been repaired before.
  let repairs: Int
  let configuration: Connection.Configuration
  /// The command line that shows which steps ran on the store.
  let history: String

  func found() -> String {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration),
      let events = try? HistoryEvent.all(connection)
    else { return stateAfterExit(.stopped) }
    connection.close()
    return events.count { $0.kind == .repaired } == repairs
      ? "The history of \(store) is unchanged, and the store opens with its key."
      : "The steps are recorded as their files are now; \(store) opens with its key."
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String {
    "\(store) opens with its key. To check whether its steps were recorded again: \(history)"
  }
}

/// After `log --purge`: the transactions are deleted, or all are kept.
struct PurgedHistory: FileStateReport {
  let store: String
  let key: Key
  /// The last transaction that was purged before; nil if none was.
  let purged: Int64?
  let configuration: Connection.Configuration
  /// The command line that shows the history.
  let log: String

  func found() -> String {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration) else {
      return stateAfterExit(.stopped)
    }
    defer { connection.close() }
    guard let reader = try? HistoryReader(connection) else { return stateAfterExit(.stopped) }
    return reader.purged == purged
      ? "The history of \(store) is unchanged, and the store opens with its key."
      : "The transactions were deleted from the history; \(store) opens with its key."
  }
  func stateAfterExit(_ phase: CommitGate.Phase) -> String {
    "\(store) opens with its key. To check whether its transactions were deleted: \(log)"
  }
}

/// After `up`, `down`, or `baseline` in place: all steps are done, or none. With `--tx step`, it may be
/// that only some are done.
struct MigrationRun: FileStateReport {
  let store: String
  let key: Key
  let from: Int
  let to: Int
  let configuration: Connection.Configuration
  /// The command line that shows the state of the store, quoted for a shell.
  let status: String
  /// The names of the steps by number, when each is committed separately; nil when all are one
  /// transaction.
  var storeState: [Int: String]?
  var hasParts: Bool { storeState != nil }

  func found() -> String {
    var reading = configuration
    reading.access = .readOnly
    // Read access is enough when the user has no write access.
    guard
      let connection = (try? Connection.open(store, key: key, configuration: configuration))
        ?? (try? Connection.open(store, key: key, configuration: reading)),
      let version = try? connection.userVersion()
    else { return stateAfterExit(.stopped) }
    let isNone = isNoStore(connection)
    connection.close()
    // A file that `baseline` was to turn into a store. Its version number belongs to another program.
    guard !isNone else { return "\(store) was not made into a store; it still opens with its key." }
    return (done(at: version).map { "\($0) " } ?? "")
      + "\(store) is at version \(version)\(version == from ? ", as before" : ""), and opens with its key."
  }

  /// Returns whether the file is not a store. A damaged store counts as a store.
  private func isNoStore(_ connection: Connection) -> Bool {
    do { _ = try StoreInfo(connection) } catch StoreError.notAStore { return true } catch { return false }
    return false
  }

  /// Returns a sentence about the steps that are done although the run did not complete; nil when there
  /// are none.
  private func done(at version: Int) -> String? {
    guard let storeState, version != from, version != to else { return nil }
    let numbers = from < version ? Array(from + 1...version) : Array(version + 1...from)
    let names = numbers.map { storeState[$0] ?? "\($0)" }.joined(separator: ", ")
    let (verb, object) = numbers.count == 1 ? ("is", "it") : ("are", "them")
    return from < version
      ? "\(names) \(verb) committed. To continue after \(object), run `up` again."
      : "\(names) \(verb) rolled back. To continue after \(object), run `down` again."
  }

  func stateAfterExit(_ phase: CommitGate.Phase) -> String {
    guard storeState == nil else {
      return "\(store) opens with its key, and the last complete step is committed. Check: \(status)"
    }
    return
      "\(store) opens with its key. It is at version \(from), as before, or at version \(to) if the commit "
      + "was in progress. Check: \(status)"
  }
}
