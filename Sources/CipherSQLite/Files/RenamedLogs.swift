// The log and the journal of a database that does not open and is being replaced. Their content cannot be
// copied into the file. They must not lie next to the new file, because the engine would apply them to
// it, and they must not be deleted before the new file has its name.
//
// They are therefore renamed; the new name is derived from the file that they belong to. If the process
// is killed before the new file has its name, the next process that opens the old file finds them and
// restores their names. If it is killed later, the old file no longer exists, and the next process that
// replaces the file at this path deletes them: the name proves that this library made it.

private import Foundation

struct RenamedLogs {
  private static let suffixes = ["-wal", "-journal"]
  /// Counts of hexadecimal digits: one part identifies the file, the other proves that the name is ours.
  private static let digits = (identity: 12, proof: 4)

  private let file: DatabasePath
  private let status: FileStatus
  private let identity: Substring

  /// Computes the names for the log and the journal of a file.
  ///
  /// - Parameters:
  ///   - file: The path of the database.
  ///   - status: The status of the file that is at the path.
  init(of file: DatabasePath, _ status: FileStatus) {
    self.file = file
    self.status = status
    // Size and time are part of the identity: the logs do not belong to a file that was written to since,
    // or to another file that reuses the inode number.
    let facts =
      "ObjectVault log\0\(file.name)\0\(status.device) \(status.inode) \(status.byteCount) \(status.modified)"
    identity = sha256(Array(facts.utf8)).prefix(Self.digits.identity)
  }

  private func name(_ suffix: String) -> String {
    "\(file.path)\(suffix).\(identity)\(Self.proof(file.name + suffix, identity))"
  }

  private static func proof(_ name: String, _ identity: Substring) -> Substring {
    sha256(Array("ObjectVault log's name\0\(name)\0\(identity)".utf8)).prefix(digits.proof)
  }

  /// Renames the log and the journal. The caller holds an exclusive lock on the file.
  func renameLogs() throws {
    for suffix in Self.suffixes where FileStatus(file.path + suffix) != nil {
      // `Temporaries` records the renaming: a process that ends on a signal restores the names itself.
      guard
        try Temporaries.setAside(logOf: file, status: status, suffix: suffix, as: name(suffix))
          || errno == ENOENT
      else {
        let error = SQLError.failed("rename", on: file.given + suffix)
        restoreNames()
        throw error
      }
    }
  }

  /// Restores the names of the log and the journal, under the same lock.
  func restoreNames() {
    for suffix in Self.suffixes where FileStatus(name(suffix)) != nil && FileStatus(file.path + suffix) == nil
    {
      _ = unsafe rename(name(suffix), file.path + suffix)
    }
    Temporaries.discardRenamedLogs(of: file)
  }

  /// Deletes the renamed log and journal, and those of databases that had this path earlier. None of these
  /// databases exists any more.
  func remove() {
    for suffix in Self.suffixes {
      unsafe unlink(name(suffix))
      let start = file.name + suffix + "."
      for other in Leftovers.names(in: file.folder) where other.hasPrefix(start) {
        let rest = other.dropFirst(start.count)
        let identity = rest.prefix(Self.digits.identity)
        guard rest.utf8.count == Self.digits.identity + Self.digits.proof,
          rest.dropFirst(Self.digits.identity) == Self.proof(file.name + suffix, identity)
        else { continue }
        unsafe unlink(file.sibling(other))
      }
    }
    Temporaries.discardRenamedLogs(of: file)
  }

  /// The path to which the log of the file is renamed.
  fileprivate var log: String { name("-wal") }

  /// Restores the log and the journal that a killed process left renamed while it replaced the file.
  /// Costs three calls of `lstat` where there is nothing to do.
  /// - Throws: As ``RawFile/open(_:holding:seconds:)``.
  static func recover(_ file: DatabasePath, seconds: Double) throws {
    guard let status = FileStatus(file.path) else { return }
    let logs = RenamedLogs(of: file, status)
    guard suffixes.contains(where: { FileStatus(logs.name($0)) != nil }) else { return }
    let raw = try RawFile.open(file, holding: .exclusive, seconds: seconds)
    // The file may have been replaced while this process waited for the lock. Then the logs do not belong
    // to the new file.
    guard FileStatus(file.path)?.isSameFile(as: status) ?? false else { return }
    logs.restoreNames()
    raw.unlock()
  }
}

extension DatabasePath {
  /// The path to which the file's log is renamed while the file, which does not open, is being replaced;
  /// nil when there is no file.
  package var renamedLogPath: String? { FileStatus(path).map { RenamedLogs(of: self, $0).log } }
}
