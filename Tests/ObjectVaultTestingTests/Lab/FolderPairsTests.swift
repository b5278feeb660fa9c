// Random pairs of models whose step takes the path of an app's: the tool writes it into a folder, its loss
// is allowed there, checksums in the lock file chain it, and migrations read it from the folder.

import Foundation
import ObjectVault
import ObjectVaultTesting
import TestSupport
import Testing

/// A folder of steps for a tool with a model.
private struct ToolFolder {
  struct Failed: Error, CustomStringConvertible { let description: String }

  let folder: TestFolder
  var steps: URL { folder.url.appendingPathComponent("Migrations") }

  init() throws { folder = try TestFolder(isInMemory: true) }

  /// Runs a line of the tool that was built with a model.
  func run(_ words: [String], _ model: Schema) throws -> ToolResult {
    let file = folder.url.appendingPathComponent("model.json")
    try Data(model.json.utf8).write(to: file)
    return try runTool(
      builtExecutable("model-migrate"), words + ["--no-input"], environment: ["MODEL_FILE": file.path],
      directory: folder.url.path)
  }

  /// Runs a line, and throws if it fails.
  func done(_ words: [String], _ model: Schema) throws {
    let result = try run(words, model)
    guard result.status == 0 else { throw Failed(description: "\(words.joined(separator: " ")): \(result)") }
  }

  /// Allows the losses of a step, as a person does after a review of the file.
  func allowLosses(of name: String) throws {
    try change(name) { $0.replacing("\n# allow: ", with: "\nallow: ") }
  }

  func change(_ name: String, _ change: (String) -> String) throws {
    let file = steps.appendingPathComponent(name)
    try Data(change(String(contentsOf: file, encoding: .utf8)).utf8).write(to: file)
  }
}

@Suite(.tags(.random, .slow)) struct FolderPairs {
  @Test func `a random step keeps the objects, also through a folder, the tool and its checksums`()
    async throws
  {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 4711)
    let count = pairCount(short: 12)
    var random = SeededGenerator(seed: seed)
    var tally = RandomSteps.Tally()
    for round in 0..<count {
      if round % 3 == 1 {
        // With renamed objects of the model, which the tool is given as options.
        let schema = round % 6 == 4 ? RandomSchemas.hierarchies(&random) : RandomSchemas.schema(&random)
        let change = RandomRenaming(schema, &random)
        guard change.old != change.new else { continue }
        do { try await check(change, &tally) } catch {
          Issue.record(
            "seed \(seed), round \(round): \(error)\n\(change.old.json)\n\(change.new.json)\n\(change.renaming)"
          )
          return
        }
        continue
      }
      let hasParents = round % 3 == 2
      let old = hasParents ? RandomSchemas.hierarchies(&random) : RandomSchemas.schema(&random)
      let new =
        hasParents ? RandomSchemas.changedHierarchies(old, &random) : RandomSchemas.changed(old, &random)
      guard old != new else { continue }
      do { try await check(from: old, to: new, edits: round % 10 == 0, &tally) } catch {
        Issue.record("seed \(seed), round \(round): \(error)\n\(old.json)\n\(new.json)")
        return
      }
    }
    // Of few rounds most may be refused.
    #expect(tally.migrated > count / 8 && (tally.back > 0 || count < 40), "\(tally)")
  }

  private func check(_ change: RandomRenaming, _ tally: inout RandomSteps.Tally) async throws {
    let folder = try ToolFolder()
    let set = try write(from: change.old, to: change.new, renaming: change.renaming, in: folder)
    try await RandomSteps.check(change.old, set.upTo(1), set.steps[1], &tally)
    try await RandomSteps.checkNames(change, set)
  }

  /// Writes the steps of two models with the tool.
  private func write(
    from old: Schema, to new: Schema, renaming: [MigrationRenaming] = [], in folder: ToolFolder
  ) throws -> MigrationSet {
    try folder.done(["new", "first", "--from-model"], old)
    try folder.done(["embed"], old)
    let told = renaming.flatMap { ["--rename", "\($0)"] }
    try folder.done(["new", "change", "--from-model", "--no-rename"] + told, new)
    try folder.allowLosses(of: "0002_change.migration")
    // The step is not in the lock file yet.
    #expect(try folder.run(["check"], new).status != 0)
    try folder.done(["embed", "--released", "1.0"], new)
    try folder.done(["check"], new)
    let set = try MigrationSet.directory(folder.steps)
    try #require(set.version == 2)
    // The tool proposes no further lines.
    #expect(try set.proposal(for: new).lines == [])
    return set
  }

  private func check(
    from old: Schema, to new: Schema, edits: Bool, _ tally: inout RandomSteps.Tally
  ) async throws {
    let folder = try ToolFolder()
    let set = try write(from: old, to: new, in: folder)
    try await RandomSteps.check(old, set.upTo(1), set.steps[1], &tally)
    guard edits else { return }
    try folder.change("0001_first.migration") { $0 + "create entity Zebra {\n  attribute stripes int\n}\n" }
    let edited = try folder.run(["check"], new)
    #expect(edited.status != 0 && (edited.output + edited.errors).contains("0001_first"), "\(edited)")
  }
}
