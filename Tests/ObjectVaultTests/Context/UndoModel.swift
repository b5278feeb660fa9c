// The model of the tests of undo: an order, a many-to-many, a one-to-one, a to-one without an inverse, a
// cascade; and the whole graph as a text.

import ObjectVault

final class UndoFolder: ManagedObject {
  @Attribute var key: String
  @Attribute var size: Int = 0
  @Attribute var saves: Int = 0
  @ToMany(inverse: \UndoPage.binder, onDelete: .cascade) var sheets: [UndoPage]
  @ToMany(inverse: \UndoTag.binders) var stickers: Set<UndoTag>
  @ToOne(inverse: \UndoCover.binder) var cover: UndoCover?
}

final class UndoPage: ManagedObject {
  @Attribute var key: String
  @Attribute var text: String = ""
  @ToOne var binder: UndoFolder?
  @ToOne var source: UndoTag?
}

final class UndoTag: ManagedObject {
  @Attribute var key: String
  @ToMany var binders: Set<UndoFolder>
}

final class UndoCover: ManagedObject {
  @Attribute var key: String
  @ToOne var binder: UndoFolder?
}

enum UndoModel {
  static let schema = Schema {
    Entity(UndoFolder.self)
    Entity(UndoPage.self)
    Entity(UndoTag.self)
    Entity(UndoCover.self)
  }

  /// All objects with their values and relationships, as a context sees them.
  static func text(_ context: ObjectContext) throws -> String {
    var lines: [String] = []
    for binder in try context.fetch(UndoFolder.self).all() {
      let sheets = binder.sheets.map(\.key).joined(separator: ", ")
      let stickers = binder.stickers.map(\.key).sorted().joined(separator: ", ")
      lines.append(
        "UndoFolder \(binder.key) \(binder.size) [\(sheets)] {\(stickers)} \(binder.cover?.key ?? "-")")
    }
    for sheet in try context.fetch(UndoPage.self).all() {
      lines.append(
        "UndoPage \(sheet.key) \(sheet.text) \(sheet.binder?.key ?? "-") \(sheet.source?.key ?? "-")")
    }
    for sticker in try context.fetch(UndoTag.self).all() {
      lines.append("UndoTag \(sticker.key) {\(sticker.binders.map(\.key).sorted().joined(separator: ", "))}")
    }
    for cover in try context.fetch(UndoCover.self).all() {
      lines.append("UndoCover \(cover.key) \(cover.binder?.key ?? "-")")
    }
    return lines.sorted().joined(separator: "\n")
  }
}
