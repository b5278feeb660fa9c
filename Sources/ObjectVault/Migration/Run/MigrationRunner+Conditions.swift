// What a migration asks before its first step: losses that nobody allowed, what others have in its way, and room on the disk.

internal import CipherSQLite

extension MigrationRunner {
  /// What a step loses is decided by its author, in its file, and not by whoever opens the store. What a way back loses
  /// is what people entered since, and nobody could allow that beforehand.
  func checkLosses(of work: MigrationWork) throws {
    for compiled in work.back {
      let (step, losses) = (compiled.step, compiled.losses.filter { !allowedLosses.contains($0) })
      guard losses.isEmpty else {
        throw StoreError.wayBackLoses(
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

  /// What somebody else has put into the file is not dropped without a word, and its name is not given to something else.
  /// - Throws: ``StoreError/stepsObstructed(file:obstacles:)``.
  func checkObstacles(to work: MigrationWork) throws {
    let lines = try ForeignObjects(layout: work.model.layout).obstacles(to: work.steps, connection)
    guard lines.isEmpty else { throw StoreError.stepsObstructed(file: connection.path, obstacles: lines) }
  }

  /// Who opens a store at once may have said how long that may take.
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
