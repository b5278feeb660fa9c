// The `lint` command: lists what a reviewer should check in the steps that are not released yet.

import Foundation
import ObjectVault

enum LintCommand: Command {
  static let name = "lint"
  static let summary = "Review the steps: losses, rejected rows, time, rollbacks"
  static let group = CommandGroup.write
  static let positionalCount = 0
  static let options = [
    Option.migrations, Option("--all", "check released steps, too"),
    Option("--ignore", value: "CODES", "omit these codes, such as L401,L501"),
  ]
  static let help = """
    EXAMPLES
      store-migrate lint
      store-migrate lint --ignore L401 --json

    Checks the steps after the last release in the lock file. Ends with 2 for any finding that is not just a
    note (notes: L302, L303, L304, L401, L403, L501, L504). Needs no store and no key; writes nothing.

    Each code, and what a step with this finding does:

    \(codes)
    """

  /// The codes of all rules with their meanings, for the help.
  private static let codes = MigrationFinding.Rule.allCases.map { "  \($0.rawValue)  \($0.meaning)" }
    .joined(separator: "\n")

  struct LintReport: Report {
    var isScreen: Bool { true }
    let steps: Int
    let findings: [MigrationFinding]
    /// The file names of steps that do nothing. They are reported as notes, not as findings.
    let empty: [String]
    var exitCode: ExitCode { findings.allSatisfy(\.rule.isNote) ? .ok : .attention }
    var description: String {
      let lines =
        findings.isEmpty
        ? ["\(steps) \(steps == 1 ? "step" : "steps"); no findings."]
        : findings.map { legible($0.description, upTo: 1000) }
      return (lines + empty.map { "note: \($0) is empty and does nothing." }).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let words = (session.arguments.value("--ignore") ?? "").split { $0 == "," || $0.isWhitespace }
    let ignored = try words.map { word in
      guard let rule = MigrationFinding.Rule(rawValue: word.uppercased()) else {
        let codes = MigrationFinding.Rule.allCases.map(\.rawValue)
        throw UsageError(
          "--ignore: \"\(word)\" is not a code.\(didYouMean(word.uppercased(), among: codes)) "
            + "The codes are \(codes.joined(separator: ", "))."
        )
      }
      return rule
    }
    let (set, releases) = try session.reading(session.migrationsFolder) {
      (try session.authored(), try Releases(session.migrationsFolder))
    }
    let released = session.arguments.has("--all") ? 0 : releases.version
    let edited = releases.edited(in: set).map {
      MigrationFinding(rule: .editsReleased, step: $0.number, file: $0.file, operation: nil, text: $0.text)
    }
    let found = try set.findings(after: released) + (session.model.map { set.findings(of: $0) } ?? [])
    return LintReport(
      steps: max(0, set.version - released), findings: (edited + found).filter { !ignored.contains($0.rule) },
      empty: set.emptySteps.filter { name in set.steps.dropFirst(released).contains { $0.fileName == name } })
  }
}

extension MigrationFinding.Rule {
  /// What a step does that breaks the rule, in a few words.
  var meaning: String {
    switch self {
    case .dropsEntity: "drops an entity, and the head of the file does not allow it"
    case .dropsProperty: "drops a property, and the head of the file does not allow it"
    case .narrows: "converts values to a narrower type"
    case .allowsNoLoss: "allows a loss that it does not cause"
    case .requiresWithoutFilling: "requires a value, but has no backfill value for rows without one"
    case .uniqueOnExisting: "requires existing values to be unique"
    case .severalToOne: "turns a to-many into a to-one, which keeps one object of several"
    case .mayBeRenaming: "drops an item and adds a similar one, which may be intended as a renaming"
    case .renamingIsDone:
      "has already done a renaming that a class still declares (only in the app's own tool; a note)"
    case .namedOtherwise: "has a name: line that differs from its file name (a note)"
    case .mayBePaired: "has a to-many and an opposite to-one that are not inverses (a note)"
    case .rebuildsTable: "copies a whole table on SQLCipher 3 (a note)"
    case .losesIndex: "loses an index, because one of its attributes becomes inherited (a note)"
    case .irreversible: "has no rollback, and does not state why (a note)"
    case .transformsUnchecked: "rewrites values, and does not check the result (require)"
    case .rawNamesPlain: "names an entity in SQL in a way that later renamings do not update"
    case .triggerWrites: "has a trigger that writes rows (a note)"
    case .namesNoEntity: "writes rows to a table that entities share, without naming the entity"
    case .namesFormerly: "uses the former name of an entity in a quoted text"
    case .editsReleased: "differs from what was released"
    case .readerTooOld: "allows older programs to open the store, although they do not support its changes"
    }
  }
}
