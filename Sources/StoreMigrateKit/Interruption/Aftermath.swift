// What is true of the files when a command was stopped.

import CipherSQLite
import Foundation
import ObjectVault

/// Knows what can be said of the files that a command changes.
protocol Aftermath: Sendable {
  /// Said when the command has ended in order: looks at the files.
  func found() -> String
  /// Said when the process ends in the midst of the command. Temporary files are gone, and no change of a key will be
  /// committed that is not yet.
  /// - Parameter phase: How far the change of a key is.
  func leftBehind(_ phase: CommitGate.Phase) -> String
  /// Whether a command that failed may have done a part of it.
  var hasParts: Bool { get }
}

extension Aftermath {
  var hasParts: Bool { false }
}

/// Of `rekey`: the store is under one key or the other.
struct KeyChange: Aftermath {
  let store: String
  let old: Key
  let new: Key
  let configuration: Connection.Configuration

  func found() -> String {
    switch (opens(new), opens(old)) {
    // Both keys are of one key file.
    case (true, true): "\(store) opens with the slots of its key file."
    // Who reads this was not told that it was done: the pages were not all read.
    case (true, false): renewed
    case (false, true): asBefore
    case (false, false): unknown
    }
  }

  func leftBehind(_ phase: CommitGate.Phase) -> String {
    switch phase {
    case .working, .stopped: asBefore
    case .committing:
      "The change was being committed at this moment: \(store) opens with the NEW key or with the OLD key. "
        + unknown
    case .committed: renewed
    }
  }

  private var asBefore: String { "\(store) opens with the OLD key, as before." }
  private var renewed: String {
    "\(store) opens with the NEW key, and with no other; not every page was read with it."
  }
  private var unknown: String {
    "Keep both keys, and find out which one it is: \(ToolLine("verify", argumentPath(store)))"
  }

  private func opens(_ key: Key) -> Bool {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration) else {
      return false
    }
    connection.close()
    return true
  }
}

/// Of `rekey --new-cipher`, `upgrade-cipher`, `restore`: another file takes the place of the store, or it does not.
struct Replacement: Aftermath {
  let path: String
  /// What is said of the former file, and of the new one.
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

  /// Remembers which file it is that lies at a path now.
  init(of path: String, former: String, new: String) {
    self.path = path
    texts = (former, new)
    self.former = Identity(path)
  }

  func found() -> String { Identity(path) == former ? texts.former : texts.new }
  // The new file is renamed, in one step; without its temporary name it cannot be any more.
  func leftBehind(_ phase: CommitGate.Phase) -> String { found() }
}

/// Of `encrypt`, `export`, `backup`: the new file has its name, or there is none.
struct NewCopy: Aftermath {
  let target: String
  /// What is said besides of the file that was copied.
  let source: String

  func found() -> String {
    (FileManager.default.fileExists(atPath: target)
      ? "\(target) was finished and compared." : "\(target) was not made, and no part of it is left.") + " "
      + source
  }
  func leftBehind(_ phase: CommitGate.Phase) -> String { found() }
}

/// Of `slots` but for its rotation: the key file is the former one or the new one.
struct SlotChange: Aftermath {
  let file: String

  func found() -> String {
    do {
      return
        "\(file) is whole; its slots are \(try KeyFile.slots(at: file).map(\.name).joined(separator: ", "))."
    } catch SQLError.notFound { return "There is no key file \(file)." } catch {
      return "Look at it: \(ToolLine("slots", "list", argumentPath(file)))"
    }
  }
  func leftBehind(_ phase: CommitGate.Phase) -> String { found() }
}

/// Of `plan --rehearse`, which changes a copy alone. It may fail before there is one.
struct Rehearsing: Aftermath {
  func found() -> String { "Nothing was changed, and no copy is left." }
  func leftBehind(_ phase: CommitGate.Phase) -> String { found() }
}

/// Of `create`: the store has its name, or there is none.
struct NewStore: Aftermath {
  let path: String

  func found() -> String {
    FileManager.default.fileExists(atPath: path)
      ? "\(path) was made, and opens with its key." : "\(path) was not made, and no part of it is left."
  }
  func leftBehind(_ phase: CommitGate.Phase) -> String { found() }
}

/// Of `up --vacuum` where no step is pending: the file was written whole, or it was not.
struct Vacuuming: Aftermath {
  let store: String
  let key: Key
  let configuration: Connection.Configuration
  /// The line that says how many pages are free.
  let info: String

  func found() -> String {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration) else {
      return leftBehind(.stopped)
    }
    defer { connection.close() }
    guard let free = try? connection.value("PRAGMA freelist_count")?.int64 else {
      return leftBehind(.stopped)
    }
    return free > 0
      ? "\(store) opens with its key, as before, and has its free pages."
      : "\(store) opens with its key, and has no free pages."
  }
  func leftBehind(_ phase: CommitGate.Phase) -> String {
    "\(store) opens with its key, and holds what it held before; whether it has free pages, if it was just being committed, "
      + "is said by: \(info)"
  }
}

/// Of `redo`: the steps ran again, all of them, or none.
struct RepeatedSteps: Aftermath {
  let store: String
  let key: Key
  let version: Int
  /// How often the tables had been changed before.
  let generation: Int64
  let configuration: Connection.Configuration
  /// The line that says what ran on the store.
  let history: String

  func found() -> String {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration),
      let info = try? StoreInfo(connection)
    else { return leftBehind(.stopped) }
    connection.close()
    return info.generation == generation
      ? "\(store) is as it was, at version \(version), and opens with its key."
      : "The steps were run again; \(store) is at version \(version), and opens with its key."
  }
  func leftBehind(_ phase: CommitGate.Phase) -> String {
    "\(store) opens with its key and is at version \(version) as before; whether its last steps were run again, if that "
      + "was just being committed, is said by: \(history)"
  }
}

/// Of `repair`: the record of all named steps is the new one, or of none.
struct NewRecord: Aftermath {
  let store: String
  let key: Key
  /// How often steps had been repaired before.
  let repairs: Int
  let configuration: Connection.Configuration
  /// The line that says what ran on the store.
  let history: String

  func found() -> String {
    guard let connection = try? Connection.open(store, key: key, configuration: configuration),
      let events = try? HistoryEvent.all(connection)
    else { return leftBehind(.stopped) }
    connection.close()
    return events.count { $0.kind == .repaired } == repairs
      ? "The history of \(store) is as before, and the store opens with its key."
      : "The record of the steps was written anew; \(store) opens with its key."
  }
  func leftBehind(_ phase: CommitGate.Phase) -> String {
    "\(store) opens with its key; whether the record of its steps is another, if that was just being committed, is said "
      + "by: \(history)"
  }
}

/// Of `up` and `down`: all steps, or none.
struct MigrationRun: Aftermath {
  let store: String
  let key: Key
  let from: Int
  let to: Int
  let configuration: Connection.Configuration
  /// The line that says how the store stands, as a shell takes it.
  let status: String
  /// What the steps are called where each is committed by itself, by their numbers; nil where all are one transaction.
  var standing: [Int: String]?
  var hasParts: Bool { standing != nil }

  func found() -> String {
    var reading = configuration
    reading.access = .readOnly
    // Who may not write to it may read it.
    guard
      let connection = (try? Connection.open(store, key: key, configuration: configuration))
        ?? (try? Connection.open(store, key: key, configuration: reading)),
      let version = try? connection.userVersion()
    else { return leftBehind(.stopped) }
    let isNone = isNoStore(connection)
    connection.close()
    // A file that was to become one. Its number of a version is another program's.
    guard !isNone else { return "\(store) is no store, as before, and opens with its key." }
    return (done(at: version).map { "\($0) " } ?? "")
      + "\(store) is at version \(version)\(version == from ? ", as before" : ""), and opens with its key."
  }

  /// Damage is none of this: a store that is damaged is one.
  private func isNoStore(_ connection: Connection) -> Bool {
    do { _ = try StoreInfo(connection) } catch StoreError.notAStore { return true } catch { return false }
    return false
  }

  /// Which steps stand although the run was not finished.
  private func done(at version: Int) -> String? {
    guard let standing, version != from, version != to else { return nil }
    let numbers = from < version ? Array(from + 1...version) : Array(version + 1...from)
    let names = numbers.map { standing[$0] ?? "\($0)" }.joined(separator: ", ")
    return from < version
      ? "What ran before stands, and up goes on from there: \(names)."
      : "What was taken back before stays so, and down goes on from there: \(names)."
  }

  func leftBehind(_ phase: CommitGate.Phase) -> String {
    guard standing == nil else {
      return "\(store) opens with its key, and is behind the last whole step: \(status)"
    }
    return
      "\(store) opens with its key, and is at version \(from) as before, or at version \(to) if the last of the work was "
      + "just being committed: \(status)"
  }
}
