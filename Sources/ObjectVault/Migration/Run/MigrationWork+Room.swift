// How much of the disk a run takes beside the store.

extension MigrationWork {
  /// The room that it takes on the disk beside the store, a guess. What is written needs it twice: for itself, and in the
  /// journal; what a step leaves free the next one takes. A backup needs what the store has.
  /// - Parameter amounts: What each step writes.
  func neededBytes(amounts: [RowForecast.Amount], storeBytes: Int, makesBackups: Bool) -> Int {
    let written = min(storeBytes, amounts.map(\.bytes).max() ?? 0)
    return 2 * written + (makesBackups && steps.contains(where: \.wantsBackup) ? storeBytes : 0)
  }
}
