// The `lint` command: lists what a reviewer should check in the steps that are not released yet.

import Foundation
import ObjectVault

enum LintCommand: Command {
  static let name = "lint"
  static let summary = "What a reviewer would ask: losses, refusals, time, ways back"
  static let group = CommandGroup.write
  static let positionalCount = 0
  static let options = [
    Option.migrations, Option("--all", "released steps, too"),
    Option("--ignore", value: "CODES", "leave these out, such as L401,L501"),
  ]
  static let help = """
    EXAMPLES
      store-migrate lint
      store-migrate lint --ignore L401 --json

    Looks at the steps behind the last release that the lock file names. Ends with 2 for a finding that is no mere note
    (L302, L303, L304, L401, L403, L501, L504). Needs no store and no key; writes nothing.

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
        ? ["\(steps) \(steps == 1 ? "step" : "steps"); nothing to ask."]
        : findings.map { legible($0.description, upTo: 1000) }
      return (lines + empty.map { "note: \($0) is empty: it does nothing." }).joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let words = (session.arguments.value("--ignore") ?? "").split { $0 == "," || $0.isWhitespace }
    let ignored = try words.map { word in
      guard let rule = MigrationFinding.Rule(rawValue: word.uppercased()) else {
        let codes = MigrationFinding.Rule.allCases.map(\.rawValue)
        throw UsageError(
          "--ignore: \"\(word)\" is no code.\(didYouMean(word.uppercased(), among: codes)) There are \(codes.joined(separator: ", "))."
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
    case .dropsEntity: "drops an entity, and the head does not allow it"
    case .dropsProperty: "drops a property, and the head does not allow it"
    case .narrows: "puts values into a narrower type"
    case .allowsNoLoss: "allows a loss that it does not have"
    case .requiresWithoutFilling: "requires a value, and does not say which where there is none"
    case .uniqueOnExisting: "requires of what is there that it be unique"
    case .severalToOne: "leaves one of many"
    case .mayBeRenaming: "drops and adds alike: may be meant as a renaming"
    case .renamingIsDone: "a class tells of a renaming that a step has done (the app's own tool; a note)"
    case .namedOtherwise: "calls itself by another name than its file (a note)"
    case .mayBePaired: "has a to-many and a to-one back that are no two ends of one relationship (a note)"
    case .rebuildsTable: "copies a whole table on SQLCipher 3 (a note)"
    case .losesIndex: "loses an index with an attribute that is inherited from then on (a note)"
    case .irreversible: "has no way back, and does not say why (a note)"
    case .transformsUnchecked: "rewrites values, and asks nothing behind it"
    case .rawNamesPlain: "names an entity in SQL so that no renaming follows"
    case .triggerWrites: "has a trigger that writes rows (a note)"
    case .namesNoEntity: "writes rows of a table that entities share, and does not say of which"
    case .namesFormerly: "has a name in a text that an entity had before"
    case .editsReleased: "is not what was released"
    case .readerTooOld: "lets programs open the store that do not know what it changes"
    }
  }
}
