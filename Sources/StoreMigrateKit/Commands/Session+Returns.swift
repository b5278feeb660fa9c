// The command lines that restore the numbers under which a store has run its steps, after a rebase gave
// these numbers to other steps.

import Foundation
import ObjectVault

extension Session {
  /// Returns the command lines, quoted for a shell. The steps that ran on a store get their former file
  /// names back, and all other steps are rebased after them. The Swift file with a step's functions is
  /// renamed with the step.
  /// - Returns: Nothing when the steps do not come from a folder, when a file is missing, when a step
  ///   that would be renamed was released, or when nothing would be renamed.
  func returning(_ applied: [AppliedStep]) -> [String] {
    let folder = migrationsFolder
    guard arguments.value("--migrations") != nil || !bundled.areThere,
      let files = try? Self.stepFiles(in: folder, upTo: .max).map({
        ($0, try MigrationSet.numberAndName(of: $0))
      })
    else { return [] }
    guard let releases = try? Releases(folder) else { return [] }
    func isFree(_ step: (Int, String)) -> Bool { releases.release(of: step.0, step.1) == nil }

    var others = files.filter { file in !applied.contains { ($0.number, $0.name) == file.1 } }
    var moves: [(from: String, to: String)] = []
    for step in applied where !files.contains(where: { $0.1 == (step.number, step.name) }) {
      let named = others.filter { $0.1.1 == step.name }
      guard named.count == 1, isFree(named[0].1) else { return [] }
      others.removeAll { $0.0 == named[0].0 }
      moves.append((named[0].0, "\(numbered(step.number))_\(step.name).migration"))
    }
    guard !moves.isEmpty, others.allSatisfy({ isFree($0.1) }) else { return [] }
    let rebase = others.isEmpty ? [] : [rebaseLine(others.map(\.0))]
    return moves.flatMap { lines($0) + functionLines($0, in: folder) } + rebase
  }

  private func lines(_ move: (from: String, to: String)) -> [String] {
    guard move.from != move.to else { return [] }
    let parent = arguments.value("--migrations") ?? "Migrations"
    let words = [move.from, move.to].map { shellPath("\(parent)/\($0)") }
    return ["mv \(words[0]) \(words[1])"]
  }

  /// Returns the line that renames the Swift file with a step's functions, if there is one.
  private func functionLines(_ move: (from: String, to: String), in folder: URL) -> [String] {
    guard StepFunctions.isThere(StepFunctions.file(of: move.from), in: folder) else { return [] }
    return lines((StepFunctions.file(of: move.from), StepFunctions.file(of: move.to)))
  }
}

/// The Swift file with a step's functions. It is next to the step's file and has the same name.
enum StepFunctions {
  static func file(of step: String) -> String { "\(step.dropLast(".migration".count)).swift" }

  static func isThere(_ name: String, in folder: URL) -> Bool {
    FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path)
  }
}
