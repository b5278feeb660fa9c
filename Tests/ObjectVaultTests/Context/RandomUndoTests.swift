// Random changes in groups, with saves in between: after each undo and redo the whole graph is the one that
// was noted when it was made.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random)) struct RandomUndo {
  @Test func `every undo and redo restores the graph that was there`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 5113)
    for round in 0..<UInt64(isTorture ? 400 : 60) {
      let script = try await UndoScript(seed: seed &+ round)
      do { try await script.run(steps: isTorture ? 250 : 100) } catch {
        Issue.record("seed \(seed &+ round): \(error)\n\(script.log.suffix(30).joined(separator: "\n"))")
        return
      }
    }
  }
}

private struct Difference: Error, CustomStringConvertible { let description: String }

private final class UndoScript {
  private let temporary: TemporaryStore
  private let context: ObjectContext
  private var random: SeededGenerator
  private var keys = 0
  /// The graph before each group that can be undone, and after each that can be redone.
  private var before: [String] = []
  private var after: [String] = []
  private(set) var log: [String] = []

  init(seed: UInt64) async throws {
    random = SeededGenerator(seed: seed)
    temporary = try await TemporaryStore(UndoModel.schema)
    context = temporary.store.makeContext()
    context.undoManager = ContextUndoManager()
  }

  private func one<Element>(_ list: [Element]) -> Element? { list.randomElement(using: &random) }
  private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

  private func all<Object: ManagedObject>(_ type: Object.Type) throws -> [Object] {
    try context.fetch(type).all()
  }

  func run(steps: Int) async throws {
    for _ in 0..<steps {
      let graph = try UndoModel.text(context)
      switch number(0..<12) {
      case 0: try save(graph)
      case 1, 2, 3: try reverse(redoing: false, graph)
      case 4, 5: try reverse(redoing: true, graph)
      default:
        log.append("group")
        let count = context.undoManager?.undoCountForTests ?? 0
        try context.undoManager?.group { for _ in 0...number(0..<4) { try change() } }
        // A group that changes nothing is not kept.
        if context.undoManager?.undoCountForTests == count + 1 {
          before.append(graph)
          after = []
        }
      }
      if let error = context.faultErrors.first { throw error }
      try checkPending(context)
      try expectCounts()
    }
    try save(try UndoModel.text(context))
    let findings = try await temporary.store.verify()
    guard findings.isEmpty else { throw Difference(description: findings.joined(separator: "; ")) }
  }

  private func expectCounts() throws {
    let undo = try #require(context.undoManager)
    guard undo.undoCountForTests == before.count, undo.canRedo == !after.isEmpty else {
      throw Difference(description: "\(undo.undoCountForTests) groups to undo, expected \(before.count)")
    }
  }

  private func save(_ graph: String) throws {
    log.append("save")
    try context.save()
    let reader = temporary.store.makeContext()
    let stored = try UndoModel.text(reader)
    guard stored == graph else { throw Difference(description: "stored:\n\(stored)\nexpected:\n\(graph)") }
    guard !context.hasChanges else { throw Difference(description: "has changes after a save") }
  }

  private func reverse(redoing: Bool, _ graph: String) throws {
    guard let expected = redoing ? after.popLast() : before.popLast() else { return }
    log.append(redoing ? "redo" : "undo")
    if redoing { before.append(graph) } else { after.append(graph) }
    if redoing { try context.redo() } else { try context.undo() }
    let present = try UndoModel.text(context)
    guard present == expected else {
      throw Difference(
        description: "\(log.last ?? ""):\n\(present)\nexpected:\n\(expected)\nbefore:\n\(graph)")
    }
  }

  private func newKey() -> String {
    keys += 1
    return "k\(keys)"
  }

  private func change() throws {
    let (folders, pages) = (try all(UndoFolder.self), try all(UndoPage.self))
    let (tags, covers) = (try all(UndoTag.self), try all(UndoCover.self))
    let kind = number(0..<19)
    log.append("  \(kind)")
    switch kind {
    case 0: context.insert(UndoFolder.self) { ($0.key, $0.size) = (newKey(), 0) }
    case 1, 2:
      context.insert(UndoPage.self) {
        $0.key = newKey()
        $0.folder = one(folders)
        $0.source = number(0..<2) == 0 ? one(tags) : nil
      }
    case 3: context.insert(UndoTag.self) { $0.key = newKey() }
    case 4:
      context.insert(UndoCover.self) {
        ($0.key, $0.folder) = (newKey(), number(0..<2) == 0 ? one(folders) : nil)
      }
    case 5: one(folders)?.size += number(1..<5)
    case 6: one(pages)?.text = "t\(number(0..<100))"
    case 7: one(pages)?.folder = number(0..<4) == 0 ? nil : one(folders)
    case 8: one(pages)?.source = number(0..<3) == 0 ? nil : one(tags)
    case 9: if let folder = one(folders) { folder.pages = folder.pages.shuffled(using: &random) }
    case 10:
      if let folder = one(folders), !folder.pages.isEmpty {
        folder.pages.remove(at: number(0..<folder.pages.count))
      }
    case 11:
      if let folder = one(folders), let tag = one(tags) {
        if folder.tags.contains(tag) {
          folder.remove(tag, from: \.tags)
        } else {
          folder.add(tag, to: \.tags)
        }
      }
    case 12:
      if let folder = one(folders) { folder.tags = Set(tags.filter { _ in number(0..<2) == 0 }) }
    case 13: one(folders)?.cover = number(0..<4) == 0 ? nil : one(covers)
    case 14: if let object = one(folders + pages as [ManagedObject]) { context.delete(object) }
    case 15: if let folder = one(folders) { folder.marks = Set(tags.filter { _ in number(0..<2) == 0 }) }
    case 16:
      if let folder = one(folders) { folder.list = tags.shuffled(using: &random).dropLast(number(0..<3)) }
    case 17: if let folder = one(folders), let tag = one(tags) { folder.add(tag, to: \.list) }
    default: if let object = one(tags + covers as [ManagedObject]) { context.delete(object) }
    }
  }
}
