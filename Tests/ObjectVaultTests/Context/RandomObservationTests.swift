// Random changes of observed objects: whenever what was read has changed, the reader was notified.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.random)) struct RandomObservation {
  @Test func `whenever what was read has changed, the reader was notified`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = UInt64(environment["VAULT_SEED"].flatMap { Int($0) } ?? 9021)
    for round in 0..<UInt64(isTorture ? 300 : 25) {
      let script = try await ObservedScript(seed: seed &+ round)
      do { try script.run(steps: isTorture ? 300 : 80) } catch {
        Issue.record("seed \(seed &+ round): \(error)\n\(script.log.suffix(20).joined(separator: "\n"))")
        return
      }
    }
  }
}

/// Reads each object as a view of its own, makes a change, and compares.
private final class ObservedScript {
  private let temporary: TemporaryStore
  private let context: ObjectContext
  private let other: ObjectContext
  private var random: SeededGenerator
  private var keys = 0
  private(set) var log: [String] = []
  /// All objects that were fetched, also those that are deleted by now.
  private var known: [ManagedObject] = []

  init(seed: UInt64) async throws {
    random = SeededGenerator(seed: seed)
    temporary = try await TemporaryStore(UndoModel.schema)
    context = temporary.store.makeContext()
    other = temporary.store.makeContext()
    context.undoManager = ContextUndoManager()
    context.notifiesObservers = true
    context.mergePolicy = .mergeByPropertyObjectTrump
    other.mergePolicy = .mergeByPropertyObjectTrump
    other.automaticallyMergesChanges = true
  }

  private func one<Element>(_ list: [Element]) -> Element? { list.randomElement(using: &random) }
  private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
  private func newKey() -> String {
    keys += 1
    return "k\(keys)"
  }

  /// What a view of the object shows.
  private func text(_ object: ManagedObject) -> String {
    // What a deleted object answers besides may differ from read to read: its values may be released.
    if object.isDeleted || object.objectState == .invalid {
      _ = object["key"] as String
      return "deleted"
    }
    func keys(_ objects: some Sequence<ManagedObject>) -> [String] {
      objects.map { ($0 as? UndoTag)?.key ?? ($0 as? UndoPage)?.key ?? ($0 as? UndoFolder)?.key ?? "?" }
    }
    let state = "\(object.hasChanges) \(object.isInserted)"
    switch object {
    case let folder as UndoFolder:
      return "\(state) \(folder.key) \(folder.size) \(keys(folder.pages)) \(keys(folder.tags).sorted()) "
        + "\(keys(folder.marks).sorted()) \(keys(folder.list)) \(folder.cover?.key ?? "-")"
    case let page as UndoPage:
      return "\(state) \(page.key) \(page.text) \(page.folder?.key ?? "-") \(page.source?.key ?? "-")"
    case let tag as UndoTag: return "\(state) \(tag.key) \(keys(tag.folders).sorted())"
    case let cover as UndoCover: return "\(state) \(cover.key) \(cover.folder?.key ?? "-")"
    default: return state
    }
  }

  func run(steps: Int) throws {
    for _ in 0..<steps {
      let fetched: [ManagedObject] =
        try context.fetch(UndoFolder.self).all() + context.fetch(UndoPage.self).all()
        + context.fetch(UndoTag.self).all() + context.fetch(UndoCover.self).all()
      known = (fetched + known).reduce(into: []) { list, object in
        if !list.contains(where: { $0 === object }) { list.append(object) }
      }
      let objects = known
      var (former, notified): ([String], [Notified]) = ([], [])
      for object in objects {
        let seen = Notified()
        var read = ""
        seen.read { read = text(object) }
        former.append(read)
        notified.append(seen)
      }
      let seen = Notified()
      var hadChanges = false
      seen.read { hadChanges = context.hasChanges }
      try change()
      if context.hasChanges != hadChanges, seen.count == 0 { throw Missed(text: "hasChanges") }
      for (index, object) in objects.enumerated() {
        let present = text(object)
        if present != former[index], notified[index].count == 0 {
          throw Missed(text: "\(former[index])\nbecame\n\(present)")
        }
      }
    }
  }

  private struct Missed: Error, CustomStringConvertible {
    let text: String
    var description: String { "no observer was notified:\n\(text)" }
  }

  private func change() throws {
    let kind = number(0..<22)
    log.append("\(kind)")
    switch kind {
    case 0, 1: try edit(context)
    case 2: do { try context.save() } catch { context.rollback() }
    case 3: context.rollback()
    case 4, 5: try? context.undo()
    case 6: try? context.redo()
    case 7, 8, 9:
      for _ in 0...number(0..<3) { try edit(other) }
      // What cannot be saved is discarded.
      do { try other.save() } catch { other.rollback() }
      if number(0..<2) == 0 { try context.refreshAll() } else { context.mergeChanges(.changedElsewhere) }
    case 10:
      let before = context.automaticallyMergesChanges
      context.automaticallyMergesChanges = !before
    case 11: if let folder = one(try context.fetch(UndoFolder.self).all()) { context.refresh(folder) }
    case 12: try executeSQL()
    default: try edit(context)
    }
  }

  private func executeSQL() throws {
    guard !context.hasChanges else { return }
    let (page, folder) = (
      one(try context.fetch(UndoPage.self).ids()), one(try context.fetch(UndoFolder.self).ids())
    )
    let kind = number(0..<4)
    log.append("  SQL \(kind)")
    switch (kind, page, folder) {
    case (0, _, _): try context.execute("UPDATE UndoFolder SET size = size + 1")
    case (1, let page?, let folder?):
      try context.execute("UPDATE UndoPage SET folder_id = \(folder.rowID) WHERE id = \(page.rowID)")
    case (2, let page?, _): try context.execute("DELETE FROM UndoPage WHERE id = \(page.rowID)")
    case (3, _, _): try context.execute("INSERT INTO UndoTag(key) VALUES (\(newKey()))")
    default: break
    }
  }

  private func edit(_ context: ObjectContext) throws {
    let (folders, pages) = (try context.fetch(UndoFolder.self).all(), try context.fetch(UndoPage.self).all())
    let (tags, covers) = (try context.fetch(UndoTag.self).all(), try context.fetch(UndoCover.self).all())
    let kind = number(0..<16)
    log.append("  \(kind)\(context === other ? " elsewhere" : "")")
    switch kind {
    case 0: context.insert(UndoFolder.self) { $0.key = newKey() }
    case 1, 2:
      context.insert(UndoPage.self) { ($0.key, $0.folder, $0.source) = (newKey(), one(folders), one(tags)) }
    case 3: context.insert(UndoTag.self) { $0.key = newKey() }
    case 4: context.insert(UndoCover.self) { ($0.key, $0.folder) = (newKey(), one(folders)) }
    case 5: one(folders)?.size += 1
    case 6: one(pages)?.text = newKey()
    case 7: one(pages)?.folder = one(folders)
    case 8: one(pages)?.source = one(tags)
    case 9: if let folder = one(folders) { folder.pages = folder.pages.shuffled(using: &random) }
    case 10: one(folders)?.tags = Set(tags.filter { _ in number(0..<2) == 0 })
    case 11: one(folders)?.cover = one(covers)
    case 12: if let object = one(folders + pages as [ManagedObject]) { context.delete(object) }
    case 13: if let object = one(tags + covers as [ManagedObject]) { context.delete(object) }
    case 14: one(folders)?.list = tags.shuffled(using: &random)
    default: if let tag = one(tags) { tag.folders = Set(folders.filter { _ in number(0..<2) == 0 }) }
    }
  }
}
