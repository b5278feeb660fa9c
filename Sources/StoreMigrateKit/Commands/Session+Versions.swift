// The version to which a command migrates a store, and the losses that are allowed.

import Foundation
import ObjectVault

extension Session {
  /// Returns the steps of ``migrations()``; none when no folder was named and the default one does not
  /// exist.
  func migrationsIfAny() throws -> MigrationSet {
    let isThere = FileManager.default.fileExists(atPath: migrationsFolder.path)
    return !bundled.areThere && arguments.value("--migrations") == nil && !isThere
      ? try MigrationSet([]) : try migrations()
  }

  /// Returns the version of `--to`; nil when it is not given.
  /// - Parameter isFresh: Whether there is no store yet. A new store cannot have a version among folded
  ///   steps.
  /// - Throws: ``UsageError`` for a version that the steps do not have.
  func target(of set: MigrationSet, isFresh: Bool = false) throws -> Int? {
    guard let version = try arguments.count("--to") else { return nil }
    if isFresh, version > 0, version < set.foldedVersion {
      let fold = set.steps[set.foldedVersion - 1]
      throw UsageError(
        "--to \(version): the steps up to \(numbered(fold.number)) \(fold.name) were folded into one, "
          + "so this version cannot be created. Use \(fold.number) or higher.")
    }
    guard version <= set.version else {
      throw UsageError("--to \(version): there is no such step; the last one is \(set.version).")
    }
    return version
  }

  /// Returns the version that `--to` names, or the present version plus a number of steps; never below 0.
  /// - Throws: ``UsageError`` when both `--to` and `--steps` are given.
  func target(from version: Int, steps: Int) throws -> Int {
    guard arguments.value("--to") == nil || arguments.value("--steps") == nil else {
      throw UsageError("Give --to or --steps, not both.")
    }
    return try arguments.count("--to")
      ?? max(0, version.addingReportingOverflow(steps).overflow ? Int.max : version + steps)
  }

  /// Warns when a rollback ends at a version among folded steps, because the present files cannot migrate
  /// from there.
  func warnOfFold(at version: Int, _ set: MigrationSet) {
    guard version > 0, version < set.foldedVersion else { return }
    let fold = set.steps[set.foldedVersion - 1]
    // The release that the fold records for this version. Later releases contain the folded step instead.
    let release = fold.folds[version].release.map { "release \($0), or " } ?? ""
    warn(
      "these steps cannot migrate the store up again from version \(version), because the steps up to "
        + "\(numbered(fold.number)) \(fold.name) were folded into one. "
        + "To run `up` from there, you need \(release)the files of those steps from before the fold.")
  }

  /// Checks that all losses are allowed: by the author of the step, by `--allow`, by `--yes`, or by the
  /// user, who is shown the steps and asked.
  /// - Parameters:
  ///   - plan: The plan of the run.
  ///   - what: The beginning of a sentence that ends with the losses.
  /// - Throws: ``RefusedError``, which names the options that allow the losses.
  func allow(_ plan: MigrationPlan, _ what: String) throws {
    let allowed = Set(try allowances())
    for name in allowed.subtracting(plan.losses.map { "lossy:\($0)" }).sorted() where !plan.steps.isEmpty {
      warn(
        "--allow \(name) has no effect: no step of this run has that loss."
          + didYouMean(lossy: name, among: plan.losses.filter { !allowed.contains("lossy:\($0)") }))
    }
    var left: [String] = []
    for loss in plan.unallowedLosses where !allowed.contains("lossy:\(loss)") && !left.contains(loss) {
      left.append(loss)
    }
    guard !left.isEmpty, !arguments.has("--yes") else { return }
    let list = left.map(plan.text).joined(separator: ", ")
    if !arguments.has("--no-input"), isatty(0) == 1 {
      for step in plan.steps {
        standardError("\(numbered(step.number)) \(step.name)\(step.isRollback ? ", rolled back:" : ":")")
        for operation in step.operations { standardError("  · \(operation)") }
      }
      standardError("\(what) \(list). Type yes to continue:")
      if readLine() == "yes" { return }
    }
    throw RefusedError(
      code: .refused,
      description: "\(what) \(list). To allow it, add "
        + left.map { "--allow lossy:\($0)" }.joined(separator: " ") + ". Nothing was changed.")
  }

  /// Returns the losses that `--allow` names.
  /// - Throws: ``UsageError`` for a text that is not of the form `lossy:NAME`.
  func allowances() throws -> [String] {
    try arguments.all("--allow").map { name in
      guard name.hasPrefix("lossy:"), name.count > 6 else {
        let meant = name.isEmpty || name == "lossy:" ? "" : " Did you mean \"lossy:\(name)\"?"
        throw UsageError("--allow takes lossy:NAME, not \"\(name)\".\(meant) Nothing was changed.")
      }
      return name
    }
  }
}
