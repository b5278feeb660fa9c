// To which version a command leads a store, and what may be lost on the way.

import Foundation
import ObjectVault

extension Session {
  /// The steps of ``migrations()``; none where no folder was named and the usual one is not there.
  func migrationsIfAny() throws -> MigrationSet {
    let isThere = FileManager.default.fileExists(atPath: migrationsFolder.path)
    return !bundled.areThere && arguments.value("--migrations") == nil && !isThere
      ? try MigrationSet([]) : try migrations()
  }

  /// The version of `--to`; nil where it is not given.
  /// - Throws: ``UsageError`` where the steps do not reach so far.
  /// - Parameter isFresh: Whether nothing is there yet, so that each version up to it is one to pass.
  func target(of set: MigrationSet, isFresh: Bool = false) throws -> Int? {
    guard let version = try arguments.count("--to") else { return nil }
    if isFresh, version > 0, version < set.foldedVersion {
      let fold = set.steps[set.foldedVersion - 1]
      throw UsageError(
        "--to \(version): the steps up to \(numbered(fold.number)) \(fold.name) were folded into one, and there is no "
          + "version between. Take \(fold.number) or a higher one.")
    }
    guard version <= set.version else {
      throw UsageError("--to \(version): there is no such step; they end at \(set.version).")
    }
    return version
  }

  /// The version that `--to` names, or that is so many steps away from the present one; never below 0.
  func target(from version: Int, steps: Int) throws -> Int {
    guard arguments.value("--to") == nil || arguments.value("--steps") == nil else {
      throw UsageError("Give --to or --steps, not both.")
    }
    return try arguments.count("--to")
      ?? max(0, version.addingReportingOverflow(steps).overflow ? Int.max : version + steps)
  }

  /// Says, where a store is led back to a version within steps that were folded, that these files do not lead up again.
  func warnOfFold(at version: Int, _ set: MigrationSet) {
    guard version > 0, version < set.foldedVersion else { return }
    let fold = set.steps[set.foldedVersion - 1]
    // That of the fold: a later one has the fold itself.
    let release = fold.folds[version].release.map { "release \($0), or " } ?? ""
    warn(
      "nothing at hand leads up again from version \(version), as the steps up to \(numbered(fold.number)) \(fold.name) were "
        + "folded into one: that takes \(release)their files of before the fold.")
  }

  /// Goes on where all that is lost is allowed: by its author, by `--allow`, by `--yes`, or at the question, before which
  /// the steps are shown.
  /// - Parameters:
  ///   - plan: What is about to be done.
  ///   - what: The beginning of a sentence that ends with what is lost.
  /// - Throws: ``RefusedError``, which names the options.
  func allow(_ plan: MigrationPlan, _ what: String) throws {
    let allowed = Set(try allowances())
    for name in allowed.subtracting(plan.losses.map { "lossy:\($0)" }).sorted() where !plan.steps.isEmpty {
      warn(
        "--allow \(name) allows nothing: no step of this run loses that."
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
        standardError("\(numbered(step.number)) \(step.name)\(step.leadsBack ? ", taken back:" : ":")")
        for operation in step.operations { standardError("  · \(operation)") }
      }
      standardError("\(what) for good: \(list). Type yes to go on:")
      if readLine() == "yes" { return }
    }
    throw RefusedError(
      code: .refused,
      description: "\(what) for good: \(list). Allow it with "
        + left.map { "--allow lossy:\($0)" }.joined(separator: " ") + ". Nothing was changed.")
  }

  /// What `--allow` names.
  /// - Throws: ``UsageError`` for what is no loss.
  func allowances() throws -> [String] {
    try arguments.all("--allow").map { name in
      guard name.hasPrefix("lossy:"), name.count > 6 else {
        let meant = name.isEmpty || name == "lossy:" ? "" : " Did you mean \"lossy:\(name)\"?"
        throw UsageError("--allow takes lossy:NAME, and \"\(name)\" is none.\(meant) Nothing was changed.")
      }
      return name
    }
  }
}
