// check: do the files of a migrations folder agree? For continuous integration.

import Foundation
import ObjectVault

enum CheckCommand: Command {
  static let name = "check"
  static let summary = "For CI: steps, lock, snapshot and embedded code agree"
  static let group = CommandGroup.write
  static let positionalCount = 0
  static let options = [Option.migrations]
  static let help = """
    EXAMPLES
      store-migrate check
      store-migrate check -m App/Migrations --json

    Parses, replays and compiles every step, compares the generated files with what they should hold, and names losses
    that a step's file does not allow. Ends with 2 when something is out of step. Needs no store and no key; writes nothing.
    """

  struct CheckReport: Report {
    let steps: Int
    let findings: [String]
    let isStale: Bool
    var exitCode: ExitCode { findings.isEmpty ? .ok : .attention }
    var description: String {
      findings.isEmpty
        ? "\(steps) steps; lock, snapshot and embedded code agree with them."
        : (findings + (isStale ? ["Run store-migrate embed, and commit what it writes."] : []))
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
    var findings: [String] = []
    for file in files.contents() {
      let path = files.folder.appendingPathComponent(file.name).path
      guard let data = FileManager.default.contents(atPath: path) else {
        findings.append("\(file.name) is missing.")
        continue
      }
      guard data != Data(file.text.utf8) else { continue }
      findings.append("\(file.name) is not what the steps make.")
      if file.name == "migrations.lock" {
        findings += edited(String(decoding: data, as: UTF8.self), files)
      }
    }
    // To write the files anew would hide that a released step is another.
    let isStale = !findings.isEmpty && (try? files.releases.requireKept(in: files.set)) != nil
    try files.models.last?.validate()
    let review = try files.set.review(files.models)
    findings += review.faults + review.wayBackFaults
    for (step, list) in review.losses where !list.isEmpty {
      findings.append(
        "\(step.fileName) loses \(list.joined(separator: ", ")); opening refuses that. When it is meant, write into "
          + "its head: allow: \(list.map { "lossy:\($0)" }.joined(separator: ", "))")
    }
    return CheckReport(steps: files.set.version, findings: findings, isStale: isStale)
  }

  /// Steps whose checksum in the lock is another.
  private static func edited(_ lock: String, _ files: GeneratedFiles) -> [String] {
    lock.split(whereSeparator: \.isNewline).compactMap { line in
      let words = line.split(separator: " ")
      guard words.count >= 3, let number = Int(words[0]), number > 0 else { return nil }
      let release = files.releases.release(of: number)
      guard number <= files.set.version else {
        return release.map {
          "  \(words[0])_\(words[1]) is missing, and was released with \($0). Put the file back."
        }
      }
      let step = files.set.steps[number - 1]
      let fold = words.first { $0.hasPrefix(Releases.foldWord) }?.dropFirst(Releases.foldWord.count)
      let isSameFold = fold.map { step.isPlaceholder || step.contentChecksum == $0 } ?? true
      guard step.checksum != words[2] || !isSameFold else { return nil }
      return release.map {
        "  \(step.fileName) was edited after it was released with \($0). Undo the edit, and put the change into a new step."
      } ?? "  \(step.fileName) was edited after it was locked."
    }
  }
}
