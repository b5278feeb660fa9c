// The model of the tests of undo: an order, a many-to-many, a one-to-one, a to-one without an inverse, a
// cascade; and the whole graph as a text.

import ObjectVault

final class UndoFolder: ManagedObject {
  @Attribute var key: String
  @Attribute var size: Int = 0
  @Attribute var saves: Int = 0
  @ToMany(inverse: \UndoPage.folder, onDelete: .cascade) var pages: [UndoPage]
  @ToMany(inverse: \UndoTag.folders) var tags: Set<UndoTag>
  @ToOne(inverse: \UndoCover.folder) var cover: UndoCover?
  @ToMany var marks: Set<UndoTag>
  @ToMany var list: [UndoTag]
}

final class UndoPage: ManagedObject {
  @Attribute var key: String
  @Attribute var text: String = ""
  @ToOne var folder: UndoFolder?
  @ToOne var source: UndoTag?
}

final class UndoTag: ManagedObject {
  @Attribute var key: String
  @ToMany var folders: Set<UndoFolder>
}

final class UndoCover: ManagedObject {
  @Attribute var key: String
  @ToOne var folder: UndoFolder?
}

final class UndoNote: ManagedObject {
  @Attribute var text: String
  @Attribute var saves: Int = 0
  override func willSave() { saves += 1 }
}

enum UndoModel {
  static let schema = Schema {
    Entity(UndoFolder.self)
    Entity(UndoPage.self)
    Entity(UndoTag.self)
    Entity(UndoCover.self)
    Entity(UndoNote.self)
  }

  /// All objects with their values and relationships, as a context sees them.
  static func text(_ context: ObjectContext) throws -> String {
    var lines: [String] = []
    for folder in try context.fetch(UndoFolder.self).all() {
      let pages = folder.pages.map(\.key).joined(separator: ", ")
      let tags = folder.tags.map(\.key).sorted().joined(separator: ", ")
      let marks = folder.marks.map(\.key).sorted().joined(separator: ", ")
      let list = folder.list.map(\.key).joined(separator: ", ")
      lines.append(
        "UndoFolder \(folder.key) \(folder.size) [\(pages)] {\(tags)} {\(marks)} [\(list)] "
          + (folder.cover?.key ?? "-"))
    }
    for page in try context.fetch(UndoPage.self).all() {
      lines.append(
        "UndoPage \(page.key) \(page.text) \(page.folder?.key ?? "-") \(page.source?.key ?? "-")")
    }
    for tag in try context.fetch(UndoTag.self).all() {
      lines.append("UndoTag \(tag.key) {\(tag.folders.map(\.key).sorted().joined(separator: ", "))}")
    }
    for cover in try context.fetch(UndoCover.self).all() {
      lines.append("UndoCover \(cover.key) \(cover.folder?.key ?? "-")")
    }
    return lines.sorted().joined(separator: "\n")
  }
}
