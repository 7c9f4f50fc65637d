"""Dropping onto the composer: Kits from the catalog, references as text, files and folders from anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QDragMoveEvent, QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QMenu, QWidget

from kitstudio.models import words
from kitstudio.services.app import Studio
from kitstudio.ui.composer.edits import Edits, short
from kitstudio.ui.drag import references_of, set_text_of
from kitstudio.ui.fonts import Type
from kitstudio.ui.theme import Theme, Token
from kitstudio.ui.widgets.text import tr, visible


class DropTarget(QObject):
    """Watches the page's drag events. A drag of the stack's own rows is not taken: nothing can be reordered."""

    def __init__(
        self,
        theme: Theme,
        page: QWidget,
        stack: QWidget,
        edits: Edits,
        studio: Studio,
        add_file: Callable[[Path], None],
    ) -> None:
        super().__init__(page)
        self._page, self._stack, self._edits, self._studio = page, stack, edits, studio
        self._add_file = add_file
        self.veil = DropVeil(theme, page)
        page.setAcceptDrops(True)
        page.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DragLeave:
            self.veil.hide()
            return True
        if not isinstance(event, QDropEvent):
            return False
        if event.type() == QEvent.Type.Drop:
            self.veil.hide()
            self._drop(event)
        else:
            self._over(event)
        return True

    def _over(self, event: QDropEvent) -> None:
        items, text = references_of(event.mimeData()), set_text_of(event.mimeData())
        if self._is_own(event) or not (items or text):
            event.ignore()
            return
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if not isinstance(event, QDragMoveEvent) or not self.veil.isVisible():
            self.veil.tell(drop_words(items) if items else tr("Add the Kits of this set"))

    def _drop(self, event: QDropEvent) -> None:
        items, text = references_of(event.mimeData()), set_text_of(event.mimeData())
        if self._is_own(event) or not (items or text):
            event.ignore()
            return
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if text:
            self._edits.paste(text)
            return
        files = [item for item in items if item.endswith((".yaml", ".yml"))]
        for path in files:
            self._add_file(Path(path))
        kits = [item for item in items if item not in files]
        workload = self._studio.composer.value.plan.workload
        second = next((item for item in kits if self._is_workload(item, workload)), "")
        if second and workload:
            kits.remove(second)
            self._ask(workload, second, event.position().toPoint())
        if kits:
            self._edits.add(*kits)

    def _ask(self, workload: str, second: str, place: QPoint) -> None:
        """A set has one workload: another one takes its place, or stands beside it until a person chooses."""
        menu = QMenu(self._page)
        menu.setObjectName("workloadMenu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        old, new = visible(short(workload)), visible(short(second))
        for name, label, act in (
            (
                "replace",
                tr("Replace {old} with {new}").format(old=old, new=new),
                lambda: self._edits.replace(workload, second),
            ),
            ("beside", tr("Add {new} beside it").format(new=new), lambda: self._edits.add(second)),
        ):
            action = menu.addAction(label)
            action.setObjectName(f"workload-{name}")
            action.triggered.connect(lambda _=False, act=act: act())
        menu.addSeparator()
        menu.addAction(tr("Cancel")).setObjectName("workload-cancel")
        menu.setDefaultAction(menu.actions()[0])
        menu.popup(self._page.mapToGlobal(place))
        menu.setActiveAction(menu.actions()[0])

    def _is_workload(self, item: str, workload: str) -> bool:
        """Whether the catalog knows a dropped reference as a workload that is not in the set yet."""
        return item != workload and any(
            offer.kind == "workload" and words.repository(offer.reference) == words.repository(item)
            for offer in self._studio.catalog.offers()
        )

    def _is_own(self, event: QDropEvent) -> bool:
        source = event.source()
        return isinstance(source, QWidget) and (source is self._stack or self._stack.isAncestorOf(source))


class DropVeil(QWidget):
    """Covers the page while something that can be added hangs over it; takes no events."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.words = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def tell(self, words: str) -> None:
        """Show what a drop would do."""
        self.words = words
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = theme.colour(Token.ACCENT_TINT)
        veil.setAlphaF(0.72)
        painter.fillRect(self.rect(), veil)
        pen = QPen(theme.colour(Token.ACCENT), 2, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        edge = theme.px(10)
        painter.drawRoundedRect(self.rect().adjusted(edge, edge, -edge, -edge), 8, 8)
        metrics = theme.metrics(Type.TITLE)
        width = min(metrics.horizontalAdvance(self.words) + theme.px(64), self.width() - theme.px(60))
        box = QRect(0, 0, width, theme.px(48))
        box.moveCenter(self.rect().center())
        painter.setPen(QPen(theme.colour(Token.ACCENT), 1))
        painter.setBrush(theme.colour(Token.RAISED))
        painter.drawRoundedRect(box, 8, 8)
        painter.drawPixmap(
            box.left() + theme.px(14), box.center().y() - theme.px(10), theme.pixmap("plus", 20, Token.ACCENT)
        )
        painter.setFont(theme.font(Type.TITLE))
        painter.setPen(theme.colour(Token.TEXT))
        area = box.adjusted(theme.px(42), 0, -theme.px(12), 0)
        shown = metrics.elidedText(self.words, Qt.TextElideMode.ElideMiddle, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)


def drop_words(items: tuple[str, ...]) -> str:
    """What a drop of these would do."""
    if len(items) == 1:
        return tr("Add {item} to the set").format(item=items[0].rstrip("/").rpartition("/")[2] or items[0])
    return tr("Add {n} Kits to the set").format(n=len(items))
