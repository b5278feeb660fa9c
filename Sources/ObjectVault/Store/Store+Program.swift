// The version of the running program, for the history of stores.

extension Store {
  /// Sets the version of this program, such as `4.2`.
  ///
  /// Histories record it with the program's name, and
  /// ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)`` reports it. Call this
  /// once, before the first store is opened. By default the version is that of the bundle; on Linux there
  /// is none, and only the name of the executable is recorded. An app's own tool sets it with
  /// `StoreMigrate.main(embedded:model:transforms:appVersion:)`.
  /// - Parameter version: The version.
  public static func setAppVersion(_ version: String) { RunningProgram.setVersion(version) }
}
