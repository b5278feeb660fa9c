// What a migration asks before its first step: losses that nobody allowed, and room on the disk.

internal import CipherSQLite
private import Foundation

extension MigrationRunner {
  /// What a step loses is decided by its author, in its file, and not by whoever opens the store. What a way back loses
  /// is what people entered since, and nobody could allow that beforehand.
  func checkLosses(of work: MigrationWork) throws {
    for compiled in work.back {
      let (step, losses) = (compiled.step, compiled.losses.filter { !allowedLosses.contains($0) })
      guard losses.isEmpty else {
        throw StoreError.wayBackLoses(step: step.number, name: step.name, losses: losses)
      }
    }
    for compiled in work.ahead {
      let (step, losses) = (compiled.step, compiled.unallowedLosses.filter { !allowedLosses.contains($0) })
      guard losses.isEmpty else {
        throw StoreError.lossNotAllowed(step: step.number, name: step.name, losses: losses)
      }
    }
  }

  func checkSpace(for work: MigrationWork, _ history: StoreHistory) throws {
    let system = try? FileManager.default.attributesOfFileSystem(forPath: connection.file.folder)
    guard let bytes = connection.file.byteCount, let free = (system?[.systemFreeSize] as? NSNumber)?.intValue
    else {
      return
    }
    let needed = try work.neededBytes(for: history, storeBytes: bytes, makesBackups: makesBackups)
    guard free < needed else { return }
    throw StoreError.notEnoughSpace(file: connection.path, neededBytes: needed, freeBytes: free)
  }
}
