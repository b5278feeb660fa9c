// What a migration asks before its first step: losses that nobody allowed, and room on the disk.

internal import CipherSQLite
private import Foundation

extension MigrationRunner {
  /// What a step loses is decided by its author, in its file, and not by whoever opens the store.
  func checkLosses(from history: StoreHistory) throws {
    for compiled in try set.compiled(after: history.version, format: history.format) {
      let losses = compiled.unallowedLosses.filter { !allowedLosses.contains($0) }
      guard losses.isEmpty else {
        throw StoreError.lossNotAllowed(step: compiled.step.number, name: compiled.step.name, losses: losses)
      }
    }
  }

  func checkSpace(from history: StoreHistory) throws {
    let system = try? FileManager.default.attributesOfFileSystem(forPath: connection.file.folder)
    guard let bytes = connection.file.byteCount, let free = (system?[.systemFreeSize] as? NSNumber)?.intValue
    else {
      return
    }
    let needed = try set.neededBytes(from: history, storeBytes: bytes, makesBackups: makesBackups)
    guard free < needed else { return }
    throw StoreError.notEnoughSpace(file: connection.path, neededBytes: needed, freeBytes: free)
  }
}

extension MigrationSet {
  /// The room that bringing a store to these steps takes beside it. Writing tables again needs it twice: for the copies,
  /// and in the journal. A backup needs it once.
  func neededBytes(from history: StoreHistory, storeBytes: Int, makesBackups: Bool) throws -> Int {
    let pending = try compiled(after: history.version, format: history.format)
    let rebuilds = pending.contains { step in
      step.parts.contains { $0.statements.contains { if case .copy = $0 { true } else { false } } }
    }
    // The change of the format writes the links again.
    let rebuildsLinks =
      try history.format < FileFormat.current && !history.model().joinTables.isEmpty
    let copies = makesBackups && pending.contains(where: \.wantsBackup) ? 1 : 0
    return storeBytes * (copies + (rebuilds || rebuildsLinks ? 2 : 0))
  }
}
