// Looking at a file without changing a byte of it, or of the folder it lies in.

private import Foundation

/// A connection for looking only, with whatever it needed to be opened.
///
/// An idle file is opened as immutable. A file that others have open is read beside them. A file whose last
/// user crashed has a journal that has to be replayed: that is done on a copy, as encrypted as the file, in
/// a private folder that is removed with this object.
public final class Inspection {
  /// The connection. Its path may be that of a copy.
  public let connection: Connection
  /// The path that was asked for.
  public let path: String
  private let copyFolder: String?

  /// Opens a file for looking.
  /// - Parameters:
  ///   - path: The file.
  ///   - key: Its key.
  ///   - busyTimeout: How long to wait for somebody else's lock, in seconds.
  ///   - profile: Its settings, as in ``Connection/Configuration/profile``.
  /// - Throws: ``SQLError``, as ``Connection/open(_:key:configuration:)``.
  public init(path: String, key: Key, busyTimeout: Double = 5, profile: CipherProfile? = nil) throws {
    self.path = path
    var configuration = Connection.Configuration()
    configuration.busyTimeout = busyTimeout
    configuration.profile = profile
    // Reports what the path is, and whether the key fits, before anything is copied.
    guard case .file = try PathState.of(path) else { throw SQLError.notFound(file: path) }
    let journals = ["-wal", "-journal"].filter { fileSize(path + $0) > 0 }
    if journals.isEmpty {
      configuration.access = .immutable
      copyFolder = nil
      connection = try Connection.open(path, key: key, configuration: configuration)
    } else if isLocked(path + "-shm") || isLocked(path) {
      configuration.access = .readOnly
      copyFolder = nil
      connection = try Connection.open(path, key: key, configuration: configuration)
    } else {
      let folder = try privateFolder()
      let copy = folder + "/copy.store"
      do {
        try RawFile.open(path).copy(to: copy)
        for journal in journals {
          try FileManager.default.copyItem(atPath: path + journal, toPath: copy + journal)
        }
        connection = try Connection.open(copy, key: key, configuration: configuration)
        try connection.executeScript("PRAGMA query_only = ON")
      } catch {
        try? FileManager.default.removeItem(atPath: folder)
        throw (error as? SQLError)?.naming(path) ?? error
      }
      copyFolder = folder
    }
  }

  deinit {
    connection.close()
    if let copyFolder { try? FileManager.default.removeItem(atPath: copyFolder) }
  }
}

private func fileSize(_ path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : 0
}

/// Whether any process, this one included, holds a lock on a file. Asked of the kernel's list and not with a
/// descriptor: closing one would drop this process's own locks.
func isLocked(_ path: String) -> Bool {
  // No such list here: assume that somebody may be at work.
  !FileLock.isListed || !FileLock.all(of: path).isEmpty
}

private func privateFolder() throws -> String {
  var template = Array((NSTemporaryDirectory() + "/vault-inspect-XXXXXX").utf8CString)
  guard let made = mkdtemp(&template) else {
    throw SQLError.system(file: NSTemporaryDirectory(), operation: "mkdtemp", code: Int(errno))
  }
  return String(cString: made)
}

extension RawFile {
  /// Copies all bytes to a new file of mode 0600.
  borrowing func copy(to path: String) throws {
    let descriptor = Foundation.open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600)
    guard descriptor >= 0 else { throw SQLError.system(file: path, operation: "open", code: Int(errno)) }
    defer { Foundation.close(descriptor) }
    let total = byteCount
    var offset = 0
    while offset < total {
      let count = min(1 << 20, total - offset)
      guard let bytes = read(count, at: offset) else {
        throw SQLError.system(file: path, operation: "read", code: Int(errno))
      }
      guard bytes.withUnsafeBytes({ Foundation.write(descriptor, $0.baseAddress, count) }) == count else {
        throw SQLError.system(file: path, operation: "write", code: Int(errno))
      }
      offset += count
    }
  }
}

extension SQLError {
  /// The same error about the file that was asked for, not its copy.
  fileprivate func naming(_ file: String) -> SQLError {
    switch self {
    case .wrongKey: .wrongKey(file: file)
    case .notEncrypted: .notEncrypted(file: file)
    case .notADatabase(_, let reason): .notADatabase(file: file, reason: reason)
    case .corrupted(_, let pages): .corrupted(file: file, pages: pages)
    case .cipherSettingsMismatch(_, let profile): .cipherSettingsMismatch(file: file, profile: profile)
    default: self
    }
  }
}
