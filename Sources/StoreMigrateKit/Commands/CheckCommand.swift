// The `check` command, for continuous integration: checks that the files of a migrations folder agree.

import CipherSQLite
import Foundation
import ObjectVault

enum CheckCommand: Command {
  static let name = "check"
  static let summary = "For CI: check that steps, migrations.lock, schema.json and Embedded.swift agree"
  static let group = CommandGroup.write
  static let positionalCount = 0
  static let options = [Option.migrations]
  static let help = """
    EXAMPLES
      store-migrate check
      store-migrate check -m App/Migrations --json

    Parses, replays and compiles every step, compares the generated files with their expected content, and
    lists losses that a step's file does not allow. The app's own tool also compares its classes. Needs no
    store and no key; writes nothing.

    Ends with 2 for a difference, with 3 for duplicate or missing step numbers, and with 1 for a step that
    cannot be read or does not fit the model before it.
    """

  struct CheckReport: Report {
    var isScreen: Bool { true }
    let steps: Int
    let findings: [String]
    let isStale: Bool
    /// The file names of steps that do nothing. They are reported as notes and do not affect the exit
    /// code.
    let empty: [String]
    /// Whether the app's classes were compared, too.
    let comparedWithClasses: Bool
    /// The command line that rewrites the generated files; empty when that would not fix the findings.
    let next: [String]

    private enum CodingKeys: String, CodingKey {
      case steps, findings, isStale, empty, comparedWithClasses, next
    }

    var exitCode: ExitCode { findings.isEmpty ? .ok : .attention }
    var description: String {
      let agreed =
        "\(counted(steps, "step")); migrations.lock, schema.json"
        + (comparedWithClasses ? ", the classes" : "")
        + " and Embedded.swift agree with \(steps == 1 ? "it" : "them")."
      let notes = empty.map { "note: \($0) is empty and does nothing." }
      guard !findings.isEmpty else { return ([agreed] + notes).joined(separator: "\n") }
      return (findings + notes + next.map { "Run \($0), and commit the files that it writes." })
        .joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    try session.requireFolder(session.migrationsFolder)
    let folder = session.migrationsFolder
    return try session.reading(folder) { try check(folder, session) }
  }

  private static func check(_ folder: URL, _ session: Session) throws -> CheckReport {
    let files = try GeneratedFiles(folder: folder, set: session.steps(in: folder))
    var findings = try files.contents().flatMap {
      try Self.findings($0.file, expecting: $0.text, among: files, in: session)
    }
    let listing = try files.target.listing()
    if case .kept(let manifest, let text) = listing,
      try TextFile.read(manifest.path) != Array(text.utf8)
    {
      findings.append("\(manifest.path): its exclude: list differs from the files in the folder.")
    }
    // False when rewriting would hide an edit of a released step, or when `embed` would refuse to
    // overwrite a file that it did not write.
    let isStale = !findings.isEmpty && (try? files.writable()) != nil
    // After `isStale`, because `embed` cannot fix a list that lacks one of its two comments. A list
    // without both comments is kept by hand, and only `embed` itself mentions it.
    if case .lost(let manifest, let reason, hasMarks: true) = listing {
      findings.append(files.target.advice(manifest, reason))
    }
    try files.models.last?.validate()
    let review = try files.set.review(files.models)
    findings += review.faults + review.rollbackFaults
    for lost in review.losses where !lost.names.isEmpty {
      findings.append(
        "\(lost.step.fileName) loses \(lost.texts.joined(separator: ", ")), so a store will refuse it. "
          + "If the loss is intended, add to the head of the file: "
          + "allow: \(lost.names.map { "lossy:\($0)" }.joined(separator: ", "))")
    }
    findings += try classFindings(files.set, session)
    return CheckReport(
      steps: files.set.version, findings: findings, isStale: isStale, empty: files.set.emptySteps,
      comparedWithClasses: session.model != nil,
      next: isStale ? [session.offer(EmbedCommand.self, [])] : [])
  }

  /// Returns what is wrong with one of the generated files; empty when it is as expected.
  private static func findings(
    _ file: GeneratedFile, expecting expected: String, among files: GeneratedFiles, in session: Session
  ) throws -> [String] {
    let (isLock, name) = (file == .lock, file.rawValue)
    // Computed only when something is wrong, because it reads all embedded steps.
    let damage = { isLock ? files.releases.damage(beside: files.set) : nil }
    guard let found = try file.text(in: files.folder) else {
      return [damage().map { "\($0.text). \($0.advice)." } ?? "\(name) is missing."]
    }
    // Line endings depend on the checkout, so they are not compared.
    let text = found.replacing("\r\n", with: "\n")
    if text.utf8.elementsEqual(expected.utf8) { return [] }
    if let foreign = file.finding(text) { return [foreign] }
    if MergeConflict.isIn(text) {
      return ["\(name) contains merge conflict markers. \(session.conflictAdvice)"]
    }
    if let damage = damage() { return ["\(damage.text). \(damage.advice)."] }
    return ["\(name) does not match the steps."] + (isLock ? edited(text, files) : [])
  }

  /// Returns a finding with the operations that would turn the steps' model into that of the app's
  /// classes; empty when both agree, or when the tool has no classes.
  private static func classFindings(_ set: MigrationSet, _ session: Session) throws -> [String] {
    guard let model = session.model else { return [] }
    let proposal = try set.proposal(for: model, renaming: [])
    guard !proposal.lines.isEmpty else { return [] }
    let lines =
      proposal.lines.flatMap { $0.split(separator: "\n") }.map { "  \($0)" }
      + proposal.lossTexts.map { "  LOSES \($0)" }
      + session.answers(to: proposal.doubts).map { "  May be a renaming: \($0)" }
    let head =
      "The classes differ from the model of the steps. These operations are missing "
      + "(\(session.offer(DiffCommand.self, []))):"
    return [([head] + lines).joined(separator: "\n")]
  }

  /// Returns a finding for each line of the lock file whose step was edited or has another name now, and
  /// for each released step that is missing.
  private static func edited(_ lock: String, _ files: GeneratedFiles) -> [String] {
    lock.split(whereSeparator: \.isNewline).compactMap { line in
      let words = Releases.words(of: line)
      guard words.count >= 3, let number = Int(words[0]), number > 0 else { return nil }
      let release = files.releases.release(of: number)
      guard number <= files.set.version else {
        return release.map {
          "  \(words[0])_\(words[1]) is missing, but was released with \($0). Restore the file."
        }
      }
      let step = files.set.steps[number - 1]
      guard step.name == words[1] else {
        guard let release else {
          return "  \(words[0]) is \(words[1]) in migrations.lock, but is now \(step.name)."
        }
        let file = files.set.steps.first { $0.name == words[1] && $0.number != number }?.fileName
        return "  \(words[0]) was released with \(release) as \(words[1]), but is now \(step.name). "
          + (file.map { "Give \($0) that number again, and rebase \(step.fileName) after it." }
            ?? "Restore the file of \(words[1]), and rebase \(step.fileName) after it.")
      }
      let fold = words.first { $0.hasPrefix(Releases.foldWord) }?.dropFirst(Releases.foldWord.count)
      let isSameFold = fold.map { step.isPlaceholder || step.contentChecksum == $0 } ?? true
      guard step.checksum != words[2] || !isSameFold else { return nil }
      return release.map {
        "  \(step.fileName) was edited after it was released with \($0). "
          + "Undo the edit, and put the change into a new step."
      } ?? "  \(step.fileName) was edited after migrations.lock was written."
    }
  }
}
