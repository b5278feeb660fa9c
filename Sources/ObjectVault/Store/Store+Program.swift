// What the history of a store says of the program that runs steps.

extension Store {
  /// Says which version this program is of, such as `4.2`: histories name it beside the program's name, and so does
  /// ``StoreError/storeIsNewer(file:found:supported:migratedBy:canDowngrade:)``.
  ///
  /// Call it once, before the first store is opened. Without it the version is that of the bundle; on Linux there is none, and
  /// the name of the executable stands alone. An app's own tool says it with `StoreMigrate.main(embedded:model:transforms:appVersion:)`.
  public static func setAppVersion(_ version: String) { RunningProgram.setVersion(version) }
}
