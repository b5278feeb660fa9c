// The checks before the first step: losses that are not allowed, foreign objects that are in the way, the
// limit of the caller, and disk space.

internal import CipherSQLite

extension MigrationRunner {
  /// Checks that all losses are allowed. The losses of a step are allowed by its author, in its file, and
  /// not by the caller that opens the store. A rollback also loses what users have entered since the step,
  /// which no author could allow beforehand.
  func checkLosses(of work: MigrationWork) throws {
    for compiled in work.back {
      let (step, losses) = (compiled.step, compiled.losses.filter { !allowedLosses.contains($0) })
      guard losses.isEmpty else {
        throw StoreError.rollbackLoses(
          step: step.number, name: step.name, losses: losses, emptied: compiled.emptied)
      }
    }
    for compiled in work.ahead {
      let (step, losses) = (compiled.step, compiled.unallowedLosses.filter { !allowedLosses.contains($0) })
      guard losses.isEmpty else {
        throw StoreError.lossNotAllowed(
          step: step.number, name: step.name, losses: losses, emptied: compiled.emptied)
      }
    }
  }

  /// Checks that no step drops an object that another program put into the file, or needs the object's
  /// name.
  /// - Throws: ``StoreError/stepsObstructed(file:obstacles:)``.
  func checkObstacles(to work: MigrationWork) throws {
    let lines = try ForeignObjects(layout: work.model.layout).obstacles(to: work.steps, connection)
    guard lines.isEmpty else { throw StoreError.stepsObstructed(file: connection.path, obstacles: lines) }
  }

  /// Checks that the run stays within the limit that the caller has set for opening the store.
  func checkCost(of work: MigrationWork, _ history: StoreHistory) throws {
    guard let limit else { return }
    let rows = try RowForecast.rows(of: work.steps, in: connection)
    let cost = MigrationCost(
      work, rows: rows, storeBytes: connection.contentBytes ?? 0, makesBackups: makesBackups)
    guard !limit.admits(cost) else { return }
    throw StoreError.migrationNeeded(
      MigrationNeed(
        file: connection.path, storeVersion: history.version, targetVersion: work.version,
        steps: work.steps.map { "\(numbered($0.step.number)) \($0.step.name)" }, rows: cost.rows,
        seconds: cost.seconds))
  }

  func checkSpace(for work: MigrationWork) throws {
    guard let bytes = connection.contentBytes,
      let free = connection.file.freeBytes
    else { return }
    let needed = try work.neededBytes(
      amounts: RowForecast.amounts(of: work.steps, in: connection), storeBytes: bytes,
      makesBackups: makesBackups)
    guard free < needed else { return }
    throw StoreError.notEnoughSpace(file: connection.path, neededBytes: needed, freeBytes: free)
  }
}
