// The log and the journal of a file that is being replaced and does not open: nobody can copy them into it. They must not
// lie beside the new file, which would be read with them, and must not go before it has the name.
//
// So they get another name, which follows from the file that they belong to. When the process dies before the new file
// has its name, the next one that opens the old file finds them there and puts them back. When it dies after that, their
// file is gone, and the next one that replaces the file at that path removes them: the name proves that it is ours.

private import Foundation

struct AsideLogs {
  private static let suffixes = ["-wal", "-journal"]
  /// Of the file that they belong to, and of the name itself: hexadecimal digits.
  private static let digits = (identity: 12, proof: 4)

  private let file: DatabasePath
  private let status: FileStatus
  private let identity: Substring

  /// - Parameters:
  ///   - file: The path.
  ///   - status: The file that is at it.
  init(of file: DatabasePath, _ status: FileStatus) {
    self.file = file
    self.status = status
    // Written to since, or another file with the same number, it is not the one that they belong to.
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

  /// Takes them away, under an exclusive lock on the file.
  func putAside() throws {
    for suffix in Self.suffixes where FileStatus(file.path + suffix) != nil {
      // Noted too: a process that is told to end gives them their names itself.
      guard try Temporaries.setAside(file, status, suffix, name(suffix)) || errno == ENOENT else {
        let error = SQLError.failed("rename", on: file.given + suffix)
        bringBack()
        throw error
      }
    }
  }

  /// Puts them back, under the same lock.
  func bringBack() {
    for suffix in Self.suffixes where FileStatus(name(suffix)) != nil && FileStatus(file.path + suffix) == nil
    {
      _ = unsafe rename(name(suffix), file.path + suffix)
    }
    Temporaries.forgetWhatIsAside(of: file)
  }

  /// Removes them, and those of files that had this path before: their files have no name any more.
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
    Temporaries.forgetWhatIsAside(of: file)
  }

  /// Where the log of a file would be put aside.
  fileprivate var log: String { name("-wal") }

  /// Puts back what a process left that was killed while it replaced the file. Costs a look at two names where there is
  /// nothing to do.
  /// - Throws: As ``RawFile/open(_:holding:seconds:)``.
  static func recover(_ file: DatabasePath, seconds: Double) throws {
    guard let status = FileStatus(file.path) else { return }
    let logs = AsideLogs(of: file, status)
    guard suffixes.contains(where: { FileStatus(logs.name($0)) != nil }) else { return }
    let raw = try RawFile.open(file, holding: .exclusive, seconds: seconds)
    // It may have been replaced meanwhile, and they are another's then.
    guard FileStatus(file.path)?.isSameFile(as: status) ?? false else { return }
    logs.bringBack()
    raw.unlock()
  }
}

extension DatabasePath {
  /// Where the file's log lies while the file is replaced that does not open; nil when there is no file.
  package var asideLog: String? { FileStatus(path).map { AsideLogs(of: self, $0).log } }
}
