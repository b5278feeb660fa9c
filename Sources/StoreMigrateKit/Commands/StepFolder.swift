// Reads the folder of steps, and reports what an interrupted command left there.

import CipherSQLite
import Foundation
import ObjectVault

extension Session {
  /// Checks that there is a folder to read steps from.
  /// - Throws: ``RefusedError`` when there is none.
  func requireFolder(_ folder: URL) throws {
    var isDirectory: ObjCBool = false
    guard unsafe FileManager.default.fileExists(atPath: folder.path, isDirectory: &isDirectory),
      isDirectory.boolValue
    else {
      throw RefusedError(
        code: .notFound,
        description:
          "\(folder.path): there is no migrations folder. Give its path with --migrations, or create it with "
          + "the first step: \(offer(NewCommand.self, ["NAME"]))")
    }
  }

  /// Reads the steps of a folder while no other command writes into it. Prints what an interrupted
  /// `rebase` or `squash` left there, and how to complete it.
  func steps(in folder: URL) throws -> MigrationSet { try reading(folder) { try readSteps(in: folder) } }

  private func readSteps(in folder: URL) throws -> MigrationSet {
    noteRenaming(in: folder)
    let set = try directory(folder)
    let left = try Self.filesBesideFold(of: set, in: folder)
    if !left.isEmpty {
      standardError(
        "store-migrate: \(left.joined(separator: ", ")): already folded into "
          + "\(set.steps[set.foldedVersion - 1].fileName) by a squash that did not complete. "
          + FoldedFiles.finish(set.foldedVersion, folder))
    }
    return set
  }

  /// Reads the steps of a folder. When several have the same number, the error contains the command lines
  /// that renumber one of them.
  func directory(_ folder: URL) throws -> MigrationSet {
    do { return try MigrationSet.directory(folder) } catch let error as StoreError {
      guard case .historyConflict(.duplicate(let number, let files)) = error else { throw error }
      // If both branches have several steps, several numbers occur twice.
      let others = try Self.doubled(in: folder).filter { $0.number != number }
      let more = others.map { "\n  \(numbered($0.number)), too: \($0.files.joined(separator: ", "))." }
        .joined()
      throw ExplainedError(
        code: ExitCode(error),
        description: """
          Several steps have the number \(numbered(number)): \(files.joined(separator: ", ")).\(more)
            Renumber the one that is not released or that is from your branch\
          \(others.isEmpty ? "" : ", together with the others of that branch in the same command line"):
          \(files.map { "      \(rebaseLine([$0]))" }.joined(separator: "\n"))
          """)
    }
  }

  /// Returns the numbers that several files of a folder share, in ascending order.
  private static func doubled(in folder: URL) throws -> [(number: Int, files: [String])] {
    Dictionary(grouping: try stepFiles(in: folder, upTo: .max)) {
      (try? MigrationSet.numberAndName(of: $0).0) ?? 0
    }
    .filter { $0.value.count > 1 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Runs `body`, and makes two errors more precise. For a step that does not fit the model before it, in
  /// a command without a store, the error has the step's file and line. For a store that the engine
  /// cannot read although every page authenticates, it has the remedy.
  func placing<Result>(of command: any Command.Type, _ body: () async throws -> Result) async throws -> Result
  {
    do { return try await body() } catch let error as StoreError {
      guard command.group == .write,
        case .migrationFailed(let number, let name, let operation, let reason) = error
      else { throw error }
      let step = (try? authored())?.steps.first { $0.number == number && $0.name == name }
      let place = step?.place(ofOperation: operation) ?? "step \(numbered(number)) \(name)"
      throw RefusedError(
        code: ExitCode(error), description: "\(place), \"\(legible(operation))\": \(ended(legible(reason)))")
    } catch SQLError.engine(11, _, let message, _)
      where command.hasStore && command.group != .copy && arguments.positional.count > 1
    {
      throw RefusedError(
        code: command.name == VerifyCommand.name ? .attention : .failed,
        description: damage(message, in: command))
    }
  }

  /// Returns what to do about tables that the engine reports as malformed.
  private func damage(_ message: String, in command: any Command.Type) -> String {
    let seen =
      command.name == VerifyCommand.name ? "" : " To find the damage: \(line(VerifyCommand.self))."
    return "\(storePath): its pages are authentic, but their content cannot be read (\(message))."
      + "\(seen) Restore the file from a backup."
  }

  private func noteRenaming(in folder: URL) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    let renamed = names.filter { name in
      [".migration", ".swift"].contains { name.hasSuffix($0 + RenamedSteps.suffix) }
    }.sorted()
    guard !renamed.isEmpty else { return }
    standardError(
      "store-migrate: a rebase was stopped while it renamed files. These files have their new numbers: "
        + "\(renamed.joined(separator: ", ")). Remove \(RenamedSteps.suffix) from their names, and then "
        + "rebase the steps with duplicate numbers.")
  }

  /// Returns the files of steps that were folded into a later one and were not removed.
  static func filesBesideFold(of set: MigrationSet, in folder: URL) throws -> [String] {
    guard set.foldedVersion > 0 else { return [] }
    return try stepFiles(in: folder, upTo: set.foldedVersion - 1)
  }

  /// Returns the files of the steps up to a number, in ascending order.
  static func stepFiles(in folder: URL, upTo number: Int) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter(MigrationSet.isStepFile)
      .map { (name: $0, number: try MigrationSet.numberAndName(of: $0).0) }
      .filter { $0.number <= number }.sorted { ($0.number, $0.name) < ($1.number, $1.name) }.map(\.name)
  }
}

extension MigrationSet {
  /// The file names of the steps that do nothing and replace no others.
  var emptySteps: [String] { steps.filter(\.isEmpty).map(\.fileName) }
}

extension MigrationStep {
  /// Whether the step does nothing and replaces no others.
  var isEmpty: Bool { operations.isEmpty && !isPlaceholder && folds.isEmpty }
}
