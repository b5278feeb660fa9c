// Removes the files that killed processes left while they built them. Their names prove that this library
// made them (`TemporaryName`).

private import Foundation

package enum Leftovers {
  /// Removes the files that killed builders left in a folder: a builder's lock ends with its process.
  static func sweep(_ folder: String) { sweep(folder, names(in: folder)) { _ in true } }

  /// Removes those of the given files that killed builders left.
  /// - Parameters:
  ///   - folder: The folder.
  ///   - names: The names of files in it. Files whose names are not temporary ones stay.
  ///   - isWanted: Receives the name that a file was to get, and returns whether to remove the file.
  package static func sweep(_ folder: String, _ names: [String], where isWanted: (String) -> Bool) {
    for name in names where TemporaryName.base(of: name).map(isWanted) ?? false {
      let path = folder == "/" ? folder + name : folder + "/" + name
      // The file is not even opened: closing a descriptor drops the locks that SQLite holds on it in this
      // process.
      guard !Temporaries.isBuilding(path) else { continue }
      remove(path, isCompanion: DatabasePath.companionSuffixes.contains(where: name.hasSuffix))
    }
  }

  private static func remove(_ path: String, isCompanion: Bool) {
    guard let status = FileStatus(path), status.isRegular, status.isOwn else { return }
    // Two hard links: the builder was killed between giving the file its name and removing the temporary
    // name, where that takes two steps. This is the finished file, possibly in use: opening it would drop
    // the locks that this process holds on it.
    guard status.names == 1 else {
      unsafe unlink(path)
      return
    }
    // The builder's lock is on the file itself: its companions are removed when that lock is free, or
    // when the file does not exist any more.
    let owner =
      isCompanion
      ? DatabasePath.companionSuffixes.first(where: path.hasSuffix).map { String(path.dropLast($0.count)) }
        ?? path
      : path
    // Another process may give the file its final name at this moment. The gate keeps threads of this
    // process from opening the file before the descriptor is closed.
    FileGate.withoutOpenings {
      let descriptor = unsafe open(owner, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else {
        if errno == ENOENT, isCompanion { unsafe unlink(path) }
        return
      }
      defer { close(descriptor) }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unsafe unlink(path) }
    }
  }

  /// Returns the names in a folder that are UTF-8, as all temporary names are.
  package static func names(in folder: String) -> [String] {
    guard let directory = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        // The system ends the name with a NUL within the field.
        unsafe tuple.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: tuple.pointee)) {
          unsafe String(validatingCString: $0)
        }
      }
      if let name { names.append(name) }
    }
    return names
  }
}
