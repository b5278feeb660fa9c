// How much disk space a run needs besides the store.

extension MigrationWork {
  /// Estimates the disk space that the run needs besides the store. Written data needs its space twice:
  /// for itself and in the journal. A step reuses what the step before has freed. A backup needs the size
  /// of the store.
  /// - Parameter amounts: What each step writes.
  func neededBytes(amounts: [RowForecast.Amount], storeBytes: Int, makesBackups: Bool) -> Int {
    let written = min(storeBytes, amounts.map(\.bytes).max() ?? 0)
    return 2 * written + (makesBackups && steps.contains(where: \.wantsBackup) ? storeBytes : 0)
  }
}
