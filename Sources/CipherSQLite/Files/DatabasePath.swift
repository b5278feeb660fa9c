// The resolved location of a file. The symbolic links in the path of a database or key file are followed
// only here, and only once. So the log, the -shm, the journal, the copies and the replacement of a
// database are always those of one and the same file, even if a link is changed meanwhile.

private import Foundation

/// A path with all links resolved, and the names of the files that SQLite keeps next to the database.
package struct DatabasePath: Sendable, Hashable {
  /// The path as the caller wrote it. Errors name this path.
  package let given: String
  /// The absolute path without links. All file operations use this path.
  package let path: String
  /// Whether `given` is a link to a file that does not exist.
  package let isDanglingLink: Bool

  /// The suffixes that SQLite appends to a database's name.
  package static let companionSuffixes = ["-journal", "-wal", "-shm"]
  /// SQLite's `MAX_PATHNAME` on Unix, less the longest companion's suffix and the characters of a
  /// temporary name: both have to fit.
  private static let maximumBytes = 512 - 8 - TemporaryName.addedBytes
  /// `NAME_MAX` of the usual file systems, less the longest suffix: `.previous` of a key file.
  private static let maximumNameBytes = 255 - 9
  /// The kernel follows the same number of links (`path_resolution(7)`).
  private static let maximumLinks = 40

  /// Resolves the links of a path. The file need not exist; its folder must.
  ///
  /// - Parameter given: Relative to the working directory, or absolute.
  /// - Throws: ``SQLError/pathUnusable(file:reason:)``, ``SQLError/folderMissing(folder:)``,
  ///   ``SQLError/permissionDenied(file:)``, ``SQLError/system(file:operation:code:)``;
  ///   ``SQLError/isDirectory(file:)`` for a path that ends in a slash.
  package init(_ given: String) throws(SQLError) {
    try Self.requireFile(given)
    var (next, links) = (given, 0)
    while true {
      if let real = try Self.real(next, of: given) {
        (path, isDanglingLink) = (real, false)
        break
      }
      let (folder, name) = Self.split(next)
      guard let realFolder = try Self.real(folder, of: given) else {
        throw SQLError.folderMissing(folder: folder)
      }
      guard Self.isDirectory(realFolder) else {
        throw SQLError.pathUnusable(file: given, reason: "\(folder) is a file, not a folder")
      }
      let candidate = Self.joined(realFolder, with: name)
      guard let target = try Self.target(ofLink: candidate, given) else {
        (path, isDanglingLink) = (candidate, links > 0)
        break
      }
      links += 1
      guard links <= Self.maximumLinks else {
        throw SQLError.pathUnusable(file: given, reason: "its links form a cycle")
      }
      next = target.utf8.first == UInt8(ascii: "/") ? target : Self.joined(realFolder, with: target)
    }
    self.given = given
    try requireAllowedLengths()
  }

  /// Rejects paths that cannot be the path of a file.
  private static func requireFile(_ given: String) throws(SQLError) {
    guard !given.isEmpty else { throw SQLError.pathUnusable(file: given, reason: "it is empty") }
    guard !given.utf8.contains(0) else {
      throw SQLError.pathUnusable(file: given, reason: "it contains a NUL character, where it would end")
    }
    guard given.utf8.last == UInt8(ascii: "/") else { return }
    guard !isDirectory(given) else { throw SQLError.isDirectory(file: given) }
    throw SQLError.pathUnusable(file: given, reason: "it ends in a slash, as a folder's path does")
  }

  /// Rejects paths that leave no room for the names of the companions, which are longer.
  private func requireAllowedLengths() throws(SQLError) {
    guard name.utf8.count <= Self.maximumNameBytes else {
      throw SQLError.pathUnusable(
        file: given,
        reason:
          "its name has \(name.utf8.count) bytes; at most \(Self.maximumNameBytes) leave room for the name "
          + "of its journal"
      )
    }
    guard path.utf8.count <= Self.maximumBytes else {
      throw SQLError.pathUnusable(
        file: given, reason: "it has \(path.utf8.count) bytes; SQLite accepts at most \(Self.maximumBytes)")
    }
  }

  /// Whether something exists at a path, after following its links.
  /// - Throws: As ``init(_:)`` where nothing could exist at the path, such as for a cycle of links, or
  ///   where this user has no permission to see it. A missing folder is no error: the result is then
  ///   `false`.
  package static func isTaken(_ given: String) throws(SQLError) -> Bool {
    do { return try FileStatus(DatabasePath(given).path) != nil } catch .folderMissing { return false }
  }

  /// A file in the folder of `other`, whose name is the name of `other` with a suffix.
  private init(beside other: DatabasePath, suffix: String) {
    given = other.given + suffix
    path = other.path + suffix
    isDanglingLink = false
  }

  /// A file under a temporary name; errors name the file's final path.
  init(temporary path: String, of target: DatabasePath) {
    given = target.given
    self.path = path
    isDanglingLink = false
  }

  private init(inMemory name: String) { (given, path, isDanglingLink) = (name, name, false) }

  /// The path of a database without a file.
  static let memory = DatabasePath(inMemory: ":memory:")

  /// The folder's absolute path.
  package var folder: String { Self.split(path).folder }
  /// The file's name in its folder.
  package var name: String { Self.split(path).name }
  /// The path of the write-ahead log.
  package var log: String { path + "-wal" }
  /// The path of the log's index, which is shared by the processes that use the file.
  package var sharedMemory: String { path + "-shm" }
  /// The path of the rollback journal.
  package var journal: String { path + "-journal" }

  /// The size of the file in bytes, not of a link to it; nil when there is no file.
  package var byteCount: Int? { FileStatus(path)?.byteCount }

  /// The free space in the file's folder, in bytes; nil where the system does not report it.
  package var freeBytes: Int? { FreeSpace.bytes(in: folder) }

  /// Returns the path with a suffix appended to its name.
  package func appending(_ suffix: String) -> DatabasePath { DatabasePath(beside: self, suffix: suffix) }

  /// Returns the path of another file in this folder.
  package func sibling(_ name: String) -> String { Self.joined(folder, with: name) }

  // MARK: Names

  /// Splits a path into its folder and its last component, as `dirname` and `basename` do; the folder of
  /// a bare name is `.`.
  package static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
    let name = String(path[path.utf8.index(after: slash)...])
    return (slash == path.utf8.startIndex ? "/" : String(path[..<slash]), name)
  }

  private static func joined(_ folder: String, with name: String) -> String {
    folder.utf8.last == UInt8(ascii: "/") ? folder + name : folder + "/" + name
  }

  /// Returns the files of a folder that may be encrypted databases, judged by their size, sorted by name.
  /// Skips SQLite's companion files and files that are being built.
  package static func databases(in folder: String) -> [String] {
    var paths: [String] = []
    for name in Leftovers.names(in: folder).sorted() {
      guard !companionSuffixes.contains(where: name.hasSuffix), TemporaryName.base(of: name) == nil,
        let status = FileStatus(joined(folder, with: name)), status.isRegular, status.byteCount >= 512,
        status.byteCount % 512 == 0
      else { continue }
      paths.append(joined(folder, with: name))
    }
    return paths
  }

  // MARK: System calls

  /// Returns the path without links; nil when nothing exists at it.
  private static func real(_ path: String, of given: String) throws(SQLError) -> String? {
    guard let found = unsafe realpath(path, nil) else {
      switch errno {
      case ENOENT: return nil
      case ENOTDIR: throw SQLError.pathUnusable(file: given, reason: "a part of it is a file, not a folder")
      case EACCES: throw SQLError.permissionDenied(file: given)
      case ELOOP: throw SQLError.pathUnusable(file: given, reason: "its links form a cycle")
      case ENAMETOOLONG: throw SQLError.pathUnusable(file: given, reason: "it, or a name in it, is too long")
      default: throw SQLError.failed("realpath", on: given)
      }
    }
    defer { unsafe free(found) }
    return try unsafe text(found, given)
  }

  /// Returns the target of a link; nil when the path is no link.
  private static func target(ofLink path: String, _ given: String) throws(SQLError) -> String? {
    var bytes = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = unsafe readlink(path, &bytes, Int(PATH_MAX))
    return unsafe count < 0 ? nil : try text(bytes, given)
  }

  private static func text(_ bytes: UnsafePointer<CChar>, _ given: String) throws(SQLError) -> String {
    guard let text = unsafe String(validatingCString: bytes) else {
      throw SQLError.pathUnusable(file: given, reason: "its link has a target whose name is not UTF-8")
    }
    return text
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
