// What a migration asks before its first step: losses that nobody allowed, and room on the disk.

internal import CipherSQLite
private import Foundation

extension MigrationRunner {
  /// What a step loses is decided by its author, in its file, and not by whoever opens the store.
  func checkLosses(from history: StoreHistory) throws {
    for step in set.steps.dropFirst(history.version) {
      let losses = step.unallowedLosses.filter { !allowedLosses.contains($0) }
      guard losses.isEmpty else {
        throw StoreError.lossNotAllowed(step: step.number, name: step.name, losses: losses)
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
    var model = try history.model()
    // The change of the format writes the links again.
    var rebuilds = history.format < StoreHistory.currentFormat && !model.joinTables.isEmpty
    let pending = steps.dropFirst(history.version)
    for step in pending where !rebuilds {
      let compiled = try step.compiled(from: model, engine: .current, format: history.format)
      rebuilds = compiled.parts.contains {
        $0.statements.contains { if case .copy = $0 { true } else { false } }
      }
      model = compiled.model
    }
    let copies = makesBackups && pending.contains(where: \.wantsBackup) ? 1 : 0
    return storeBytes * (copies + (rebuilds ? 2 : 0))
  }
}
