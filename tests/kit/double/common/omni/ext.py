"""What an extension derives from."""


class IExt:
    def on_startup(self, ext_id: str) -> None: ...

    def on_shutdown(self) -> None: ...


def get_extension_name(ext_id: str) -> str:
    return ext_id.partition("-")[0]
