// What is at a path, before any key is tried, and the checks that a path must pass before the engine
// opens it.

private import Foundation

enum PathState: Equatable {
  /// A file with content, which this user may read.
  case file(byteCount: Int)
  /// Nothing, or a link to nothing.
  case absent
  /// A folder.
  case folder
  /// A device, a pipe or the like.
  case other(kind: String)
  /// A file of 0 bytes.
  case empty
  /// Something that this user has no permission to read, or even to see.
  case denied

  /// Returns what is at a path.
  /// - Throws: ``SQLError/system(file:operation:code:)`` when the system does not report what is there.
  static func of(_ file: DatabasePath) throws(SQLError) -> PathState {
    var status = stat()
    guard unsafe stat(file.path, &status) == 0 else {
      switch errno {
      case ENOENT: return .absent
      case EACCES: return .denied
      default: throw .failed("stat", on: file.given)
      }
    }
    guard let found = FileStatus(file.path) else { return .absent }
    if found.isDirectory { return .folder }
    guard found.isRegular else { return .other(kind: found.kind) }
    if found.byteCount == 0 { return .empty }
    return unsafe access(file.path, R_OK) == 0 ? .file(byteCount: found.byteCount) : .denied
  }

  /// Checks that there is a readable file with content.
  /// - Returns: Its size in bytes.
  /// - Throws: ``SQLError/notFound(file:)``, ``SQLError/danglingLink(file:target:)``,
  ///   ``SQLError/isDirectory(file:)``, ``SQLError/notAFile(file:kind:)``, ``SQLError/emptyFile(file:)``,
  ///   ``SQLError/permissionDenied(file:)``; as ``of(_:)``.
  @discardableResult
  static func existing(_ file: DatabasePath) throws(SQLError) -> Int {
    switch try of(file) {
    case .file(let byteCount): return byteCount
    case .absent where file.isDanglingLink: throw .danglingLink(file: file.given, target: file.path)
    case .absent: throw .notFound(file: file.given)
    case .folder: throw .isDirectory(file: file.given)
    case .other(let kind): throw .notAFile(file: file.given, kind: kind)
    case .empty: throw .emptyFile(file: file.given)
    case .denied: throw .permissionDenied(file: file.given)
    }
  }

  /// Checks that a file has one hard link. The engine keeps a log or a journal next to the name by which
  /// a file was opened: a process that opens the file by another name does not see them, and overwrites
  /// the changes that they contain.
  /// - Throws: ``SQLError/severalNames(file:count:)``.
  static func requireOneName(_ file: DatabasePath) throws(SQLError) {
    ExclusiveRename.finish(file)
    if let status = FileStatus(file.path), status.hasOtherNames {
      throw .severalNames(file: file.given, count: status.names)
    }
  }

  /// Checks that nothing exists at the path, so that a file can be created there.
  /// - Throws: ``SQLError/isDirectory(file:)``; ``SQLError/alreadyExists(file:)``, also for a dangling
  ///   link: a new file is created at the given path, and not at the target of a link.
  static func ensureAbsent(_ file: DatabasePath) throws {
    let found = FileStatus(file.path)
    if found?.isDirectory ?? false { throw SQLError.isDirectory(file: file.given) }
    guard !file.isDanglingLink, found == nil else { throw SQLError.alreadyExists(file: file.given) }
  }

  /// Rejects a name that SQLite uses for the log, the index or the journal of an existing file. SQLite
  /// would overwrite or delete a file of such a name.
  /// - Throws: ``SQLError/pathUnusable(file:reason:)``.
  static func requireNoCompanionName(_ file: DatabasePath) throws {
    for suffix in DatabasePath.companionSuffixes where file.name.hasSuffix(suffix) {
      let base = String(file.name.dropLast(suffix.count))
      guard !base.isEmpty, let status = FileStatus(file.sibling(base)), !status.isDirectory else { continue }
      throw SQLError.pathUnusable(
        file: file.given, reason: "SQLite uses this name for a file of its own beside \(base)")
    }
  }

  /// Checks that there is no log, index or journal of the path: the engine would take it for that of a
  /// new database at the path.
  /// - Throws: ``SQLError/leftBeside(file:name:)``.
  static func ensureNothingBeside(_ file: DatabasePath) throws {
    for suffix in DatabasePath.companionSuffixes where FileStatus(file.path + suffix) != nil {
      throw SQLError.leftBeside(file: file.given, name: file.name + suffix)
    }
  }

  /// Checks that the engine can keep its log, its index and its journal next to a file. The engine follows
  /// links at these names, and writes to them.
  /// - Parameter isRead: Whether the engine will read these files; it reads none for a file that is opened
  ///   as immutable.
  /// - Throws: ``SQLError/companionUnusable(file:kind:)``.
  static func checkCompanions(_ file: DatabasePath, isRead: Bool) throws {
    for suffix in DatabasePath.companionSuffixes {
      guard let status = FileStatus(file.path + suffix) else { continue }
      guard status.isRegular, !status.hasOtherNames else {
        let kind =
          status.isDirectory
          ? "a folder" : status.isRegular ? "a file that also has another name (a hard link)" : status.kind
        throw SQLError.companionUnusable(file: file.given + suffix, kind: kind)
      }
      guard !isRead || CompanionContent.isEngines(file.path + suffix, suffix: suffix, status: status) else {
        throw SQLError.companionUnusable(file: file.given + suffix, kind: "a file that SQLite did not write")
      }
    }
  }

  /// Whether the file may be written. Its mode bits count for the superuser too: a file that was marked
  /// read-only stays so.
  static func isWritable(_ file: DatabasePath) -> Bool {
    guard let status = FileStatus(file.path) else { return false }
    return unsafe status.mode & 0o222 != 0 && access(file.path, W_OK) == 0
  }

  /// Whether no process on this machine can write there: the file system itself is read-only, such as
  /// that of an image or a disc, and not only the mount through which this process sees it.
  static func isOnReadOnlyMedium(_ file: DatabasePath) -> Bool {
    var information = statvfs()
    guard unsafe statvfs(file.path, &information) == 0, information.f_flag & UInt(ST_RDONLY) != 0,
      let mounts = try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
    else { return false }
    // proc(5): 36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    var (longest, isReadOnly) = (-1, false)
    for line in mounts.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 6, let dash = fields.firstIndex(of: "-"), fields.count > dash + 3 else { continue }
      let point = fields[4].replacing("\\040", with: " ")
      let isAbove = point == "/" || file.path == point || file.path.hasPrefix(point + "/")
      guard isAbove, point.utf8.count >= longest else { continue }
      longest = point.utf8.count
      // Files that another machine or process serves can be written to there, which is not visible here.
      let isLocal = !["nfs", "cifs", "smb", "9p", "fuse", "virtiofs", "ceph"].contains {
        fields[dash + 1].hasPrefix($0)
      }
      isReadOnly = isLocal && fields[dash + 3].split(separator: ",").contains("ro")
    }
    return isReadOnly
  }
}
